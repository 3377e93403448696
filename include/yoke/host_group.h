// All-reduce among processes of one host, in shared memory: for a mean over all replicas that is no parameter (a
// metric, a norm), for an optimizer of one's own, for any sum at all. Each process of the group keeps its values in
// memory that the others can read but not write, and sums up its slice of them; nothing is copied on the way there.
//
//   auto group = yoke::HostGroup::join("/tmp/my-job", rank, size, 1 << 20).or_throw();
//   fill(group.values());
//   group.all_reduce(count);     // the first `count` values are the sums now, the same bits in every process
//
// When a process dies, the others are told so; nobody waits for the dead.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "yoke/error.h"

namespace yoke {

class HostGroup {
 public:
  static constexpr int kMostRanks = 256;

  // All `size` processes call it, each with its rank, with the same path (the first of them makes a socket there, and
  // takes it away again) and the same number of values. `patience` bounds this and every wait that follows.
  static Result<HostGroup> join(const std::string& path, int rank, int size, std::size_t values,
                                std::chrono::milliseconds patience = std::chrono::seconds(60));
  HostGroup(HostGroup&&) noexcept;
  HostGroup& operator=(HostGroup&&) noexcept;
  ~HostGroup();

  int rank() const;
  int size() const;
  // This process's own; at first 0. Not to be touched while all_reduce runs.
  std::span<float> values();

  // The first `count` values become their sum over all processes, times `scale`; added up in the order of the ranks.
  // All call it, with the same arguments. After an error the group is of no use any more, and says so.
  Status all_reduce(std::size_t count, double scale = 1);
  // Returns when all have called it.
  Status barrier();

 private:
  class Impl;
  explicit HostGroup(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace yoke
