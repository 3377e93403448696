#include "core/permutation.h"

#include <gtest/gtest.h>

#include <vector>

namespace yoke::core {
namespace {

std::vector<std::uint64_t> order(std::uint64_t seed, std::uint32_t epoch, std::uint64_t size) {
  const Permutation permutation(seed, epoch, size);
  std::vector<std::uint64_t> out;
  for (std::uint64_t place = 0; place < size; ++place) out.push_back(permutation(place));
  return out;
}

TEST(PermutationTest, VisitsEverySampleOnce) {
  for (std::uint64_t size : {1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 1000, 4097}) {
    std::vector<bool> seen(size);
    for (auto sample : order(7, 2, size)) {
      ASSERT_LT(sample, size);
      EXPECT_FALSE(seen[sample]);
      seen[sample] = true;
    }
  }
}

TEST(PermutationTest, DiffersByEpochAndBySeed) {
  const auto first = order(1, 0, 500);
  EXPECT_EQ(first, order(1, 0, 500));
  EXPECT_NE(first, order(1, 1, 500));
  EXPECT_NE(first, order(2, 0, 500));
}

TEST(PermutationTest, LeavesFewInPlaceAndFewNeighboursTogether) {
  const std::uint64_t size = 10'000;
  const auto samples = order(3, 0, size);
  std::uint64_t in_place = 0, together = 0;
  for (std::uint64_t i = 0; i < size; ++i) {
    in_place += samples[i] == i;
    together += i > 0 && samples[i] == samples[i - 1] + 1;
  }
  EXPECT_LT(in_place, 10u);
  EXPECT_LT(together, 10u);
}

TEST(PermutationTest, HoldsDataSetsOfAnySize) {
  const std::uint64_t size = (std::uint64_t{1} << 40) + 12'345;
  const Permutation permutation(1, 0, size);
  for (std::uint64_t place : {std::uint64_t{0}, std::uint64_t{1}, size / 2, size - 1})
    EXPECT_LT(permutation(place), size);
}

}  // namespace
}  // namespace yoke::core
