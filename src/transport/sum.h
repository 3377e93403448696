// The frame's checksum (wire::Checksum, the same values) with the widest vectors that this processor has: everything
// that goes over a socket passes through it twice, and it is a quarter of the work otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace yoke::transport {

class Sum {
 public:
  Sum();
  Sum(const Sum&) = delete;
  Sum& operator=(const Sum&) = delete;
  void reset();
  void add(std::span<const std::byte> bytes);
  std::uint64_t value() const;

 private:
  alignas(64) std::byte state_[640];
};

// Which vectors those are: "avx512", "avx2" or "baseline".
const char* sum_variant();

}  // namespace yoke::transport
