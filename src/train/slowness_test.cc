#include "train/slowness.h"

#include <gtest/gtest.h>

namespace yoke::train {
namespace {

TEST(Slowness, the_named_replica_always_and_the_others_never) {
  Options options;
  options.slow = {{2, 7.5}};
  for (std::uint64_t work = 0; work < 100; ++work) {
    EXPECT_EQ(slowness_of(options, 2, work), 7.5);
    EXPECT_EQ(slowness_of(options, 1, work), 1);
  }
}

TEST(Slowness, by_chance_about_as_often_as_asked_and_the_same_every_time) {
  Options options;
  options.straggle_probability = 0.25;
  options.straggle_factor = 4;
  int slow = 0;
  for (std::uint32_t replica = 0; replica < 10; ++replica)
    for (std::uint64_t work = 0; work < 1000; ++work) {
      const double factor = slowness_of(options, replica, work);
      EXPECT_TRUE(factor == 1 || factor == 4);
      EXPECT_EQ(factor, slowness_of(options, replica, work));
      slow += factor == 4;
    }
  EXPECT_NEAR(slow, 2500, 200);  // more than four deviations of 43
  options.seed = 2;
  int other = 0;
  for (std::uint64_t work = 0; work < 1000; ++work) other += slowness_of(options, 0, work) == 4;
  EXPECT_GT(other, 0);
}

TEST(Slowness, both_at_once_multiply) {
  Options options;
  options.slow = {{0, 3}};
  options.straggle_probability = 1;
  options.straggle_factor = 2;
  EXPECT_EQ(slowness_of(options, 0, 5), 6);
  EXPECT_EQ(slowness_of(options, 1, 5), 2);
}

}  // namespace
}  // namespace yoke::train
