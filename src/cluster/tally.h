// Adds up a run from its log: what was applied, dropped and refused, and how stale it was.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/messages.h"

namespace yoke::cluster {

class Tally {
 public:
  explicit Tally(std::uint32_t replicas) : by_replica_(replicas) {}

  // Every record once, in order.
  void add(const wire::Record& record);
  // A replica was asked for a gradient.
  void count_assignment() { ++assigned_; }

  struct PerReplica {
    std::uint64_t applied = 0, dropped = 0, refused = 0, staleness = 0;  // staleness: the sum over the applied
  };
  std::uint64_t assigned() const { return assigned_; }
  std::uint64_t updates() const { return updates_; }
  std::uint64_t samples() const { return samples_; }
  const std::vector<PerReplica>& by_replica() const { return by_replica_; }
  const std::vector<std::uint64_t>& staleness() const { return staleness_; }  // [s]: applied at staleness s

 private:
  std::uint64_t assigned_ = 0, updates_ = 0, samples_ = 0;
  std::vector<PerReplica> by_replica_;
  std::vector<std::uint64_t> staleness_;
};

}  // namespace yoke::cluster
