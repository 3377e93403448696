// Updates of blocks under the central strategies: the present version of a block and of the optimizer's state is read,
// the next one written; it counts from `advance` on.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "cluster/block_store.h"
#include "cluster/optimizer_memory.h"

namespace yoke::cluster {

// The parts of a pass as the kernel takes them. Of a usual number of them nothing is allocated.
class Inputs {
 public:
  explicit Inputs(std::span<const Part> parts);
  operator std::span<const kernel::Input>() const;  // NOLINT(google-explicit-constructor)

 private:
  std::size_t size_;
  std::array<kernel::Input, 16> few_;
  std::vector<kernel::Input> many_;
};

struct UpdateOptions {
  bool state_per_replica = false;
  double delay_compensation = 0;  // lambda; not 0: what each replica computes on is kept
};

class BlockUpdates {
 public:
  // `plan` and `groups` outlive it. `shard`: only of that shard's blocks.
  BlockUpdates(const core::BlockPlan& plan, const std::vector<Optimizer>& groups, UpdateOptions options,
               std::optional<wire::ShardId> shard = {}, Allocate allocate = own_memory);

  // Takes over what the optimizers of another remember; its plan and its groups are the same. Nothing runs on either.
  void go_on_from(BlockUpdates& former) { memories_ = std::move(former.memories_); }
  // What the optimizers remember, by replica where each has its own; else there is only replica 0's.
  std::map<wire::ReplicaId, OptimizerMemory>& memories() { return memories_; }
  OptimizerMemory& memory_of(wire::ReplicaId replica) {
    return memories_.try_emplace(replica, plan_, groups_, 2, shard_, allocate_).first->second;
  }
  // The replica's gradients will come. Before its first; while nothing runs that it was not called for already.
  void expect(wire::ReplicaId replica);
  // From any thread, different blocks at the same time. Of a pass ahead: false, if something was not finite.
  bool run(const core::Reduce& pass, std::span<const Part> parts, const float* from, float* to);
  // The gradient that `run` would give the optimizer, scaled and compensated.
  bool average(const core::Reduce& pass, std::span<const Part> parts, const float* from, float* mean) const;
  // A state was written for the block, and is not the present one yet.
  bool touched(wire::BlockId block) const { return touched_[block] != nullptr; }
  // What was written for the block does not count.
  void forget(wire::BlockId block) { touched_[block] = nullptr; }
  // What was written is the present one; false: nothing was, the block was only carried over.
  bool advance(wire::BlockId block);

 private:
  const core::BlockPlan& plan_;
  const std::vector<Optimizer>& groups_;
  const UpdateOptions options_;
  const std::optional<wire::ShardId> shard_;
  const Allocate allocate_;
  std::map<wire::ReplicaId, OptimizerMemory> memories_;  // one (of replica 0), or one a replica
  std::vector<OptimizerMemory*> touched_;                // by block: whose state was written last, until it counts
};

}  // namespace yoke::cluster
