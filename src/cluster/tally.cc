#include "cluster/tally.h"

#include <algorithm>

namespace yoke::cluster {

void Tally::go_on_from(const core::Standing& standing) {
  samples_ = static_cast<std::uint64_t>(standing.samples_decided);
  if (!standing.ledger) return;
  const auto& ledger = *standing.ledger;
  for (const auto& [number, counted] : ledger.counted) {
    auto& epoch = epochs_[number];
    epoch.times.resize(standing.samples);
    epoch.counted = counted;
    std::fill_n(epoch.times.begin(), number < ledger.epoch ? standing.samples : ledger.cursor, 1);
    for (const auto& range : ledger.returned)
      if (range.epoch == number)
        std::fill(epoch.times.begin() + static_cast<std::ptrdiff_t>(range.begin),
                  epoch.times.begin() + static_cast<std::ptrdiff_t>(range.end), 0);
  }
}

void Tally::add(const wire::Record& record) {
  for (const auto& part : record.applied) {
    auto& replica = by_replica_.at(part.gradient.life.replica);
    ++replica.applied;
    replica.staleness += part.staleness;
    if (staleness_.size() <= part.staleness) staleness_.resize(part.staleness + 1);
    ++staleness_[part.staleness];
    samples_ += part.samples;
    if (part.range && epoch_size_ > 0) count(*part.range);
  }
  for (const auto& verdict : record.turned_away) {
    auto& replica = by_replica_.at(verdict.gradient.life.replica);
    ++(verdict.fate == wire::Fate::refused ? replica.refused : replica.dropped);
  }
  updates_ += !record.applied.empty();
  degraded_ += record.degraded;
}

void Tally::count(const wire::Range& range) {
  auto& epoch = epochs_[range.epoch];
  epoch.times.resize(epoch_size_);
  for (auto place = range.begin; place < std::min(range.end, epoch_size_); ++place) ++epoch.times[place];
  epoch.counted += range.size();
  if (epoch.counted < epoch_size_) return;
  const auto [least, most] = std::minmax_element(epoch.times.begin(), epoch.times.end());
  least_ = std::min<std::uint32_t>(least_, *least);
  most_ = std::max<std::uint32_t>(most_, *most);
  ++finished_epochs_;
  epochs_.erase(range.epoch);
}

}  // namespace yoke::cluster
