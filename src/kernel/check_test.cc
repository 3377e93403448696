// check() and sum_squares_of_mean().
#include <gtest/gtest.h>

#include <limits>

#include "kernel/pass.h"
#include "kernel/pass_fixture.h"
#include "kernel/variants.h"

namespace yoke::kernel {
namespace {

TEST(Check, FindsOneBadValueAnywhere) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const Passes* passes : available_variants()) {
    for (const float bad : {inf, -inf, std::numeric_limits<float>::quiet_NaN()}) {
      for (std::size_t at = 0; at < 100; ++at) {
        Floats values = random_floats(100, 3);
        EXPECT_TRUE(check_with(*passes, values).finite);
        values[at] = bad;
        EXPECT_FALSE(check_with(*passes, values).finite) << at;
      }
    }
    // Neither does one bad value hide another.
    EXPECT_FALSE(check_with(*passes, Floats{inf, -inf}).finite);
  }
}

TEST(Check, AddsTheSquares) {
  for (const std::size_t size : kSizes) {
    const Floats values = random_floats(size, 4);
    double expected = 0;
    for (const float value : values) expected += static_cast<double>(value) * value;
    const Check result = check(values);
    EXPECT_TRUE(result.finite);
    EXPECT_NEAR(result.sum_squares, expected, 1e-13 * expected);
  }
}

TEST(Check, HugeValuesAreFinite) {
  const Check result = check(Floats(10000, 1e38F));
  EXPECT_TRUE(result.finite);
  EXPECT_NEAR(result.sum_squares / 1e80, 1, 1e-6);
  EXPECT_TRUE(check(Floats(100, -std::numeric_limits<float>::max())).finite);
}

TEST(SumSquaresOfMean, IsThatOfThePlainSum) {
  for (const std::size_t size : kSizes) {
    const Fixture f(Average{}, size, 3);
    const auto inputs = f.inputs();
    Floats mean(size);
    for (std::size_t i = 0; i < size; ++i) {
      for (const Input& input : inputs) mean[i] = mean[i] + input.weight * input.values[i];
    }
    EXPECT_NEAR(sum_squares_of_mean(inputs, size), check(mean).sum_squares, 1e-6 * check(mean).sum_squares);
  }
  EXPECT_EQ(sum_squares_of_mean({}, 100), 0);
}

}  // namespace
}  // namespace yoke::kernel
