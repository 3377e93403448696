#include "cluster/tally.h"

namespace yoke::cluster {

void Tally::add(const wire::Record& record) {
  for (const auto& part : record.applied) {
    auto& replica = by_replica_.at(part.gradient.life.replica);
    ++replica.applied;
    replica.staleness += part.staleness;
    if (staleness_.size() <= part.staleness) staleness_.resize(part.staleness + 1);
    ++staleness_[part.staleness];
    samples_ += part.samples;
  }
  for (const auto& verdict : record.turned_away) {
    auto& replica = by_replica_.at(verdict.gradient.life.replica);
    ++(verdict.fate == wire::Fate::refused ? replica.refused : replica.dropped);
  }
  updates_ += !record.applied.empty();
}

}  // namespace yoke::cluster
