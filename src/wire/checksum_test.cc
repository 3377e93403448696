#include "wire/checksum.h"

#include <gtest/gtest.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <random>
#include <vector>

namespace yoke::wire {
namespace {

std::vector<std::byte> random_bytes(std::size_t size) {
  std::mt19937 random(1);
  std::vector<std::byte> bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(Checksum, OfNothingIsThePublishedOne) {
  Checksum checksum;
  EXPECT_EQ(checksum.value(), 0x2d06800538d394c2U);
  checksum.add({});
  EXPECT_EQ(checksum.value(), 0x2d06800538d394c2U);
}

// Whatever the pieces, and whatever this processor has: as the plain function says of all the bytes at once.
TEST(Checksum, IsXxh3) {
  const auto bytes = random_bytes(300'000);
  Checksum checksum;
  for (const std::size_t size : {0UL, 1UL, 16UL, 17UL, 128UL, 129UL, 240UL, 241UL, 1024UL, 65'537UL, 300'000UL}) {
    const auto part = std::span(bytes).first(size);
    for (const std::size_t piece : {1UL, 7UL, 63UL, 64UL, 257UL, 1000UL, 262'144UL}) {
      if (size / piece > 10'000) continue;
      checksum.add(bytes);
      checksum.reset();
      for (std::size_t at = 0; at < size; at += piece) checksum.add(part.subspan(at, std::min(piece, size - at)));
      EXPECT_EQ(checksum.value(), XXH3_64bits(part.data(), size))
          << size << " in pieces of " << piece << ", " << checksum_variant();
    }
  }
}

TEST(Checksum, SeesOneBit) {
  auto bytes = random_bytes(5000);
  Checksum before, after;
  before.add(bytes);
  bytes[4321] ^= std::byte{1};
  after.add(bytes);
  EXPECT_NE(before.value(), after.value());
}

}  // namespace
}  // namespace yoke::wire
