// Slowness on purpose, to see what a strategy makes of it: a replica that always is, or any of them by chance.
#pragma once

#include <cstdint>

#include "yoke/options.h"

namespace yoke::train {

// How many times as long as it takes this replica is to take for the work with this number; 1: as long as it takes. By
// chance, but the same in every run with the same seed.
double slowness_of(const Options& options, std::uint32_t replica, std::uint64_t sequence);

}  // namespace yoke::train
