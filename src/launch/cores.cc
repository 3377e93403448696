#include "launch/cores.h"

#include <sched.h>

namespace yoke::launch {

std::vector<unsigned> cores_here() {
  cpu_set_t set;
  std::vector<unsigned> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

std::vector<unsigned> a_core_each(std::size_t replicas, std::vector<unsigned> cores) {
  if (cores.size() != replicas) cores.clear();
  return cores;
}

}  // namespace yoke::launch
