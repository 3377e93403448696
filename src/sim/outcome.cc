#include "sim/outcome.h"

#include "sim/world.h"

namespace yoke::sim {

Counts& Counts::operator+=(const Counts& other) {
  events += other.events;
  messages += other.messages;
  updates += other.updates;
  turned_away += other.turned_away;
  crashes += other.crashes;
  resets += other.resets;
  return *this;
}

Outcome run_seed(std::uint64_t seed, const SimOptions& options) {
  World world(seed, options);
  return world.run();
}

}  // namespace yoke::sim
