// Which replica runs on which core.
#pragma once

#include <vector>

namespace yoke::launch {

// Those that this process may use, by number; none where that cannot be told.
std::vector<unsigned> cores_here();

// A core for each of so many replicas, where there are just as many cores; else none: they run wherever there is room.
// With as many as there are cores each has to have one to itself in any case, and the kernel would let the threads that
// exchange gradients for both run on one of them, so that the other replica waits for that one at every step.
std::vector<unsigned> a_core_each(std::size_t replicas, std::vector<unsigned> cores);

}  // namespace yoke::launch
