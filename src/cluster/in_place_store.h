// Blocks for strategies under which every replica waits while a step is made: mirrored, and sync without spares. Each
// block has one pass a step, which reads all gradients, updates in place and writes the new values straight into every
// replica's parameters: nobody has to copy them afterwards. That is reduce-scatter, update of one's own slice and
// all-gather in one; a slice is what the thread that runs the pass takes, and gathering is writing. The optimizer's
// state exists once.
//
// Mirrored has no values besides the replicas' own, which are bit-identical; a server has its own as well.
#pragma once

#include <map>

#include "cluster/aligned.h"
#include "cluster/block_store.h"
#include "cluster/optimizer_memory.h"

namespace yoke::cluster {

class InPlaceStore : public BlockStore {
 public:
  // `plan` and `groups` outlive it.
  InPlaceStore(const core::BlockPlan& plan, const std::vector<Optimizer>& groups, bool mirrored);

  void initialise(const Places& places) override;
  void attach(wire::ReplicaId replica, const Places& places) override;
  void detach(wire::ReplicaId replica, bool keep_values) override;
  bool may_reduce(wire::ShardId) const override { return true; }
  void reduce(const core::Reduce& pass, std::span<const Part> parts) override;
  void publish(wire::ShardId) override {}
  void pin(wire::ShardId, wire::ReplicaId) override {}
  // Parameters are there already; buffers may have been changed by a forward pass whose gradient did not count.
  void copy(wire::ShardId shard, wire::ReplicaId replica) override;
  void unpin(wire::ShardId, wire::ReplicaId) override {}
  std::span<const float> present(wire::BlockId block) const override;
  std::map<wire::ReplicaId, OptimizerMemory*> memories() override { return {{0, &memory_}}; }
  OptimizerMemory& memory_of(wire::ReplicaId) override { return memory_; }
  void hold_values() override;

 private:
  const core::BlockPlan& plan_;
  const std::vector<Optimizer>& groups_;
  const bool mirrored_;
  OptimizerMemory memory_;
  std::vector<AlignedFloats> values_;  // by block; mirrored: only those of buffers, the others are empty
  std::map<wire::ReplicaId, Places> places_;
};

}  // namespace yoke::cluster
