// Who works on which samples, so that each counts once an epoch. A function of the log: the cursor, the ranges given
// back, and what has been counted follow from the records alone.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "core/standing.h"
#include "wire/messages.h"
#include "yoke/options.h"

namespace yoke::core {

struct LedgerOptions {
  std::uint64_t samples = 0;  // an epoch; at least 1
  std::uint32_t batch = 1;    // samples a range
  std::vector<BatchChange> batch_schedule;
  std::uint32_t epochs = 1;
  // An epoch begins only when every sample of the one before has counted. Synchronous strategies want that; under async
  // it would make the fast wait.
  bool strict = true;
};

class Ledger {
 public:
  explicit Ledger(LedgerOptions options);
  // Goes on from where another stood, with the same number of samples; the batch and the epochs may be others.
  Ledger(LedgerOptions options, const LedgerStanding& standing);

  // The next range to work on: one that came back, else from the cursor. None: all is handed out (for now, or for
  // good).
  std::optional<wire::Range> take();
  // A range whose gradient was dropped goes to the head of the queue; one whose gradient was refused to the tail, so
  // that samples that poison a gradient do not block the rest.
  void put_back(const wire::Range& range);
  void put_last(const wire::Range& range);
  // The range's gradient was applied.
  void count(const wire::Range& range);

  // Where it stands. Ranges that were taken and are not settled are given in `outstanding`, in the order in which they
  // are to be handed out again: before all others.
  LedgerStanding standing(const std::vector<wire::Range>& outstanding) const;

  // Epochs of which every sample has counted.
  std::uint32_t epochs_counted() const { return counted_epochs_; }
  bool exhausted() const { return counted_epochs_ >= options_.epochs; }
  std::uint64_t samples() const { return options_.samples; }
  // Samples a range has in this epoch.
  std::uint32_t batch_in(std::uint32_t epoch) const;
  // The epoch the cursor is in.
  std::uint32_t epoch() const { return epoch_; }

 private:
  LedgerOptions options_;
  std::uint32_t epoch_ = 0;  // of the cursor
  std::uint64_t cursor_ = 0;
  std::deque<wire::Range> returned_;
  std::map<std::uint32_t, std::uint64_t> counted_;  // epochs under way -> samples counted
  std::uint32_t counted_epochs_ = 0;
};

}  // namespace yoke::core
