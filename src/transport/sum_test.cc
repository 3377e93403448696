#include "transport/sum.h"

#include <gtest/gtest.h>

#include "transport/conformance.h"
#include "wire/frame.h"

namespace yoke::transport {
namespace {

// Whatever the pieces, and whatever this processor has.
TEST(Sum, IsTheFramesChecksum) {
  const auto bytes = random_bytes(300'000, 1);
  for (const std::size_t size : {0UL, 1UL, 16UL, 17UL, 128UL, 129UL, 240UL, 241UL, 1024UL, 65'537UL, 300'000UL}) {
    for (const std::size_t piece : {1UL, 63UL, 64UL, 1000UL, 262'144UL}) {
      if (size / piece > 5000) continue;
      Sum sum;
      sum.add(bytes);
      sum.reset();
      wire::Checksum reference;
      const auto part = std::span(bytes).first(size);
      reference.add(part);
      for (std::size_t at = 0; at < size; at += piece) sum.add(part.subspan(at, std::min(piece, size - at)));
      EXPECT_EQ(sum.value(), reference.value()) << size << " in pieces of " << piece << ", " << sum_variant();
    }
  }
}

}  // namespace
}  // namespace yoke::transport
