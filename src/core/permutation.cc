#include "core/permutation.h"

#include "base/hash.h"

namespace yoke::core {

// A Feistel network on the smallest even number of bits that holds `size`, walked until it lands inside: a bijection of
// the larger set, restricted to the cycles through [0, size), is a bijection of [0, size). At most four walks on
// average.
Permutation::Permutation(std::uint64_t seed, std::uint32_t epoch, std::uint64_t size)
    : key_(mix(seed, epoch)), size_(size), half_bits_(1) {
  while (half_bits_ < 32 && (std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
}

std::uint64_t Permutation::scramble(std::uint64_t x) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = x >> half_bits_, right = x & mask;
  for (std::uint64_t round = 0; round < 6; ++round) {
    const std::uint64_t next = left ^ (mix(key_ + round, right) & mask);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

std::uint64_t Permutation::operator()(std::uint64_t place) const {
  do {
    place = scramble(place);
  } while (place >= size_);
  return place;
}

}  // namespace yoke::core
