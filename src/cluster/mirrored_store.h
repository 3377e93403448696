// Blocks in the replicas' own parameters: each replica keeps them all, and each block has one pass a step, which writes
// the same bits to every replica. That is reduce-scatter, update of one's own slice and all-gather in one: a slice is
// what the thread that runs the pass takes, and gathering is writing. The optimizer's state exists once.
#pragma once

#include <map>

#include "cluster/block_store.h"
#include "cluster/optimizer_memory.h"

namespace yoke::cluster {

class MirroredStore : public BlockStore {
 public:
  // `plan` and `groups` outlive it.
  MirroredStore(const core::BlockPlan& plan, const std::vector<Optimizer>& groups);

  void initialise(const Places&) override {}
  void attach(wire::ReplicaId replica, const Places& places) override;
  void detach(wire::ReplicaId replica) override;
  bool may_reduce(wire::ShardId) const override { return true; }
  void reduce(const core::Reduce& pass, std::span<const Part> parts) override;
  void publish(wire::ShardId) override {}
  void pin(wire::ShardId, wire::ReplicaId) override {}
  void copy(wire::ShardId, wire::ReplicaId) override {}
  void unpin(wire::ShardId, wire::ReplicaId) override {}

 private:
  const core::BlockPlan& plan_;
  const std::vector<Optimizer>& groups_;
  OptimizerMemory memory_;
  std::map<wire::ReplicaId, Places> places_;
};

}  // namespace yoke::cluster
