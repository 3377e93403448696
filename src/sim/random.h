// The one source of chance in a simulated world: the same seed gives the same world on every machine.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "base/time.h"

namespace yoke::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(mix(seed)) {}

  std::uint64_t next() { return mix(seed_, counter_++); }
  // In [0, limit); limit > 0.
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }
  // In [low, high].
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }
  // In [0, 1).
  double real() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double probability) { return real() < probability; }
  Duration between(Duration low, Duration high) {
    return Duration(static_cast<std::int64_t>(
        between(static_cast<std::uint64_t>(low.count()), static_cast<std::uint64_t>(high.count()))));
  }

 private:
  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
};

}  // namespace yoke::sim
