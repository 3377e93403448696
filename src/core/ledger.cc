#include "core/ledger.h"

#include <algorithm>

#include "core/planted.h"

namespace yoke::core {

Ledger::Ledger(LedgerOptions options) : options_(std::move(options)) {
  std::sort(options_.batch_schedule.begin(), options_.batch_schedule.end(),
            [](const auto& a, const auto& b) { return a.from_epoch < b.from_epoch; });
}

Ledger::Ledger(LedgerOptions options, const LedgerStanding& standing) : Ledger(std::move(options)) {
  epoch_ = standing.epoch;
  cursor_ = standing.cursor;
  if (!planted(Bug::forget_returned_ranges_at_resume))
    returned_.assign(standing.returned.begin(), standing.returned.end());
  counted_ = standing.counted;
  counted_epochs_ = standing.counted_epochs;
}

LedgerStanding Ledger::standing(const std::vector<wire::Range>& outstanding) const {
  LedgerStanding standing{epoch_, cursor_, {}, counted_, counted_epochs_};
  for (const auto& range : outstanding)
    if (range.size() > 0) standing.returned.push_back(range);
  standing.returned.insert(standing.returned.end(), returned_.begin(), returned_.end());
  return standing;
}

std::uint32_t Ledger::batch_in(std::uint32_t epoch) const {
  std::uint32_t batch = options_.batch;
  for (const auto& change : options_.batch_schedule)
    if (change.from_epoch <= epoch) batch = change.batch;
  return std::max(1u, batch);
}

std::optional<wire::Range> Ledger::take() {
  if (!returned_.empty()) {
    auto range = returned_.front();
    returned_.pop_front();
    const std::uint64_t batch = batch_in(range.epoch);
    if (range.size() > batch) {
      returned_.push_front({range.epoch, range.begin + batch, range.end});
      range.end = range.begin + batch;
    }
    return range;
  }
  if (cursor_ == options_.samples) {
    ++epoch_;
    cursor_ = 0;
  }
  if (epoch_ >= options_.epochs || (options_.strict && epoch_ > counted_epochs_)) {
    if (cursor_ == 0 && epoch_ > 0) {  // not yet: leave the cursor at the end of the epoch before
      --epoch_;
      cursor_ = options_.samples;
    }
    return std::nullopt;
  }
  const auto end = std::min(options_.samples, cursor_ + batch_in(epoch_));
  const wire::Range range{epoch_, cursor_, end};
  cursor_ = end;
  return range;
}

void Ledger::put_back(const wire::Range& range) {
  if (planted(Bug::lose_a_returned_range)) return count(range);
  if (range.size() > 0) returned_.push_front(range);
}

void Ledger::put_last(const wire::Range& range) {
  if (range.size() > 0) returned_.push_back(range);
}

void Ledger::count(const wire::Range& range) {
  counted_[range.epoch] += range.size();
  for (auto it = counted_.find(counted_epochs_); it != counted_.end() && it->second == options_.samples;
       it = counted_.find(counted_epochs_)) {
    counted_.erase(it);
    ++counted_epochs_;
  }
}

}  // namespace yoke::core
