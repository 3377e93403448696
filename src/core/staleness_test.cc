#include "core/staleness.h"

#include <gtest/gtest.h>

#include <cmath>

namespace yoke::core {
namespace {

TEST(StalenessTest, FactorsOfThePolicies) {
  EXPECT_EQ(judge_staleness({.policy = Stale::apply}, 7).factor, 1);
  EXPECT_EQ(judge_staleness({.policy = Stale::scale_inverse}, 3).factor, 0.25);
  EXPECT_DOUBLE_EQ(judge_staleness({.policy = Stale::scale_exponential, .strength = 0.5}, 2).factor, std::exp(-1.0));
  EXPECT_DOUBLE_EQ(judge_staleness({.policy = Stale::scale_linear, .strength = 0.25}, 2).factor, 0.5);
}

TEST(StalenessTest, FreshGradientsAreWhole) {
  for (auto policy : {Stale::apply, Stale::scale_inverse, Stale::scale_exponential, Stale::scale_linear}) {
    const auto decision = judge_staleness({.policy = policy, .strength = 0.3, .max_staleness = 0}, 0);
    EXPECT_TRUE(decision.apply);
    EXPECT_EQ(decision.factor, 1);
  }
}

TEST(StalenessTest, TheBoundItselfIsAllowed) {
  const StaleOptions options{.max_staleness = 4};
  EXPECT_TRUE(judge_staleness(options, 4).apply);
  const auto decision = judge_staleness(options, 5);
  EXPECT_FALSE(decision.apply);
  EXPECT_EQ(decision.reason, "5 versions stale, more than the 4 allowed");
}

TEST(StalenessTest, ScaledDownToNothingIsDropped) {
  const StaleOptions options{.policy = Stale::scale_linear, .strength = 0.5};
  EXPECT_TRUE(judge_staleness(options, 1).apply);
  EXPECT_FALSE(judge_staleness(options, 2).apply);
}

}  // namespace
}  // namespace yoke::core
