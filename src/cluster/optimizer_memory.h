// What an optimizer remembers of each block: its state arrays and how often it was updated.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "cluster/aligned.h"
#include "core/block_plan.h"
#include "kernel/pass.h"

namespace yoke::cluster {

class OptimizerMemory {
 public:
  // `versions` is 2 where the old state must survive until the new one is committed, else 1 (in place). `shard`: only
  // of that shard's blocks.
  OptimizerMemory(const core::BlockPlan& plan, const std::vector<Optimizer>& groups, unsigned versions,
                  std::optional<wire::ShardId> shard = {});

  // Points `block` at the state to read and the state to write; returns which update this is, from 1.
  std::uint64_t prepare(wire::BlockId id, kernel::Block& block);
  // The present state, an array each, and how many updates made it.
  std::vector<std::span<const float>> present(wire::BlockId id) const;
  std::uint64_t updates(wire::BlockId id) const { return entries_[id].updates; }
  void restore(wire::BlockId id, std::uint64_t updates, std::span<const std::vector<float>> arrays);
  // The update is done: the written state is the present one.
  void advance(wire::BlockId id);

 private:
  struct Entry {
    std::array<AlignedFloats, 2 * kernel::kMaxStates> arrays;  // [version * kMaxStates + index]
    unsigned present = 0;
    std::uint64_t updates = 0;
  };
  unsigned versions_;
  std::vector<Entry> entries_;  // by block
};

}  // namespace yoke::cluster
