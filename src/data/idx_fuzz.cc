// Any bytes as an idx file: what is accepted is as large as it says.
#include <cstdint>

#include "data/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using yoke::data::IdxKind;
  for (const auto kind : {IdxKind::images, IdxKind::labels}) {
    const auto idx = yoke::data::parse_idx({bytes, bytes + size}, kind);
    if (!idx) continue;
    if (idx->extents.size() != (static_cast<std::uint32_t>(kind) & 0xff)) __builtin_trap();
    std::uint64_t elements = 1;
    for (const auto extent : idx->extents) {
      if (extent == 0 || __builtin_mul_overflow(elements, extent, &elements)) __builtin_trap();
    }
    if (idx->elements.size() != elements) __builtin_trap();
  }
  return 0;
}
