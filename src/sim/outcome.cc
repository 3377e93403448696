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
  checkpoints += other.checkpoints;
  discarded += other.discarded;
  losses += other.losses;
  departures += other.departures;
  views += other.views;
  from_twins += other.from_twins;
  servers += other.servers;
  coordinators += other.coordinators;
  filled += other.filled;
  brought += other.brought;
  drains += other.drains;
  stops += other.stops;
  return *this;
}

Outcome run_seed(std::uint64_t seed, const SimOptions& options) {
  World world(seed, options);
  return world.run();
}

}  // namespace yoke::sim
