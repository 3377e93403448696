// Adds up a run from its log: what was applied, dropped and refused, and how stale it was.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/standing.h"
#include "wire/messages.h"

namespace yoke::cluster {

class Tally {
 public:
  explicit Tally(std::uint32_t replicas) : by_replica_(replicas) {}

  // How much data there is: from then on it is counted how often each sample was. 0: it has no size.
  void expect(std::uint64_t samples) { epoch_size_ = samples; }

  // What had counted before: whoever goes on from a checkpoint counts each epoch to its end. Before `expect`.
  void go_on_from(const core::Standing& standing);

  // Every record once, in order.
  void add(const wire::Record& record);
  // A replica was asked for a gradient.
  void count_assignment() { ++assigned_; }

  struct PerReplica {
    std::uint64_t applied = 0, dropped = 0, refused = 0, staleness = 0;  // staleness: the sum over the applied
  };
  std::uint64_t assigned() const { return assigned_; }
  std::uint64_t updates() const { return updates_; }
  std::uint64_t degraded() const { return degraded_; }
  std::uint64_t samples() const { return samples_; }
  const std::vector<PerReplica>& by_replica() const { return by_replica_; }
  // How often a sample counted in an epoch, at least and at most, over the epochs in which as many samples counted as
  // there are. Both 0: there was none.
  std::uint32_t least_counted() const { return finished_epochs_ ? least_ : 0; }
  std::uint32_t most_counted() const { return most_; }
  const std::vector<std::uint64_t>& staleness() const { return staleness_; }  // [s]: applied at staleness s

 private:
  struct Epoch {
    std::vector<std::uint8_t> times;  // by place
    std::uint64_t counted = 0;
  };
  void count(const wire::Range& range);

  std::uint64_t epoch_size_ = 0;
  std::map<std::uint32_t, Epoch> epochs_;  // under way
  std::uint32_t least_ = 255, most_ = 0, finished_epochs_ = 0;
  std::uint64_t assigned_ = 0, updates_ = 0, samples_ = 0, degraded_ = 0;
  std::vector<PerReplica> by_replica_;
  std::vector<std::uint64_t> staleness_;
};

}  // namespace yoke::cluster
