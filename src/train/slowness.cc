#include "train/slowness.h"

#include "base/hash.h"

namespace yoke::train {

double slowness_of(const Options& options, std::uint32_t replica, std::uint64_t sequence) {
  const auto slow = options.slow.find(replica);
  double factor = slow == options.slow.end() ? 1 : slow->second;
  if (options.straggle_probability > 0) {
    const auto drawn = mix(mix(mix(options.seed, 0x51077), replica), sequence);
    const double chance = static_cast<double>(drawn >> 11) * 0x1p-53;
    if (chance < options.straggle_probability) factor *= options.straggle_factor;
  }
  return factor;
}

}  // namespace yoke::train
