// Blocks on servers: two versions of every value and of the optimizer's state. A pass reads the present version and
// writes the next; publishing swaps them. Replicas copy the present one, and while they do, the other may not be
// overwritten twice: a version that is pinned is not written.
#pragma once

#include <map>

#include "cluster/aligned.h"
#include "cluster/block_store.h"
#include "cluster/block_updates.h"

namespace yoke::cluster {

class VersionedStore : public BlockStore {
 public:
  // `plan` and `groups` outlive it.
  VersionedStore(const core::BlockPlan& plan, const std::vector<Optimizer>& groups, UpdateOptions options);

  void initialise(const Places& places) override;
  void attach(wire::ReplicaId replica, const Places& places) override;
  void detach(wire::ReplicaId replica, bool keep_values) override;
  bool may_reduce(wire::ShardId shard) const override;
  void reduce(const core::Reduce& pass, std::span<const Part> parts) override;
  void publish(wire::ShardId shard) override;
  void pin(wire::ShardId shard, wire::ReplicaId replica) override;
  void copy(wire::ShardId shard, wire::ReplicaId replica) override;
  void unpin(wire::ShardId shard, wire::ReplicaId replica) override;
  std::span<const float> present(wire::BlockId block) const override {
    return values_[present_[plan_.blocks[block].shard]][block];
  }
  std::map<wire::ReplicaId, OptimizerMemory*> memories() override;
  OptimizerMemory& memory_of(wire::ReplicaId replica) override { return updates_.memory_of(replica); }

 private:
  struct Seat {  // one replica's
    Places places;
    unsigned reading = 0;             // the version being copied
    std::vector<AlignedFloats> then;  // by block: what it computes on (delay compensation)
  };

  const core::BlockPlan& plan_;
  const UpdateOptions options_;
  BlockUpdates updates_;
  std::vector<AlignedFloats> values_[2];       // [version][block]
  std::vector<unsigned> present_;              // by shard
  std::vector<std::array<unsigned, 2>> pins_;  // by shard and version
  std::map<wire::ReplicaId, Seat> seats_;
};

}  // namespace yoke::cluster
