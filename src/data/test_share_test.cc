#include "data/test_share.h"

#include <gtest/gtest.h>

#include <limits>

#include "data/expect_error.h"

namespace yoke::data {
namespace {

TEST(TestShare, RoundsButTakesOneAndLeavesOne) {
  EXPECT_EQ(test_samples(100, 0.1).value(), 10U);
  EXPECT_EQ(test_samples(14, 0.1).value(), 1U);
  EXPECT_EQ(test_samples(15, 0.1).value(), 2U);
  EXPECT_EQ(test_samples(2, 0.001).value(), 1U);
  EXPECT_EQ(test_samples(2, 0.9).value(), 1U);
  EXPECT_EQ(test_samples(2, 0).value(), 0U);
  EXPECT_EQ(test_samples(1, 0).value(), 0U);
}

TEST(TestShare, RefusesWhatCannotBeShared) {
  for (double share : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    expect_error(test_samples(100, share), Code::invalid_argument, {"test share"});
  }
  expect_error(test_samples(1, 0.5), Code::invalid_argument, {"of 1 samples none"});
}

}  // namespace
}  // namespace yoke::data
