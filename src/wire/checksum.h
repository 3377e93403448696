// The checksum of a frame's control part and payload, XXH3, with the widest vectors that this processor has: everything
// that goes over a socket passes through it twice, and it is a quarter of the work otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace yoke::wire {

// Of bytes that may come in pieces.
class Checksum {
 public:
  Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;
  void reset();
  void add(std::span<const std::byte> bytes);
  std::uint64_t value() const;

 private:
  alignas(64) std::byte state_[640];  // bytes, so that this header does without xxhash.h
};

// Which vectors those are: "avx512", "avx2" or "baseline".
const char* checksum_variant();

}  // namespace yoke::wire
