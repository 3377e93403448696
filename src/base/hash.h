// A 64-bit mixing function: the one source of seeded pseudo-randomness, the same on every machine.
#pragma once

#include <cstdint>

namespace yoke {

// SplitMix64's finaliser: every input bit reaches every output bit.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) ^ (b + 0x632be59bd9b4e019ull)); }

}  // namespace yoke
