// Blocks on servers: two versions of every value and of the optimizer's state. A pass reads the present version and
// writes the next; publishing swaps them. Replicas copy the present one, and while they do, the other may not be
// overwritten twice: a version that is pinned is not written.
#pragma once

#include <map>

#include "cluster/aligned.h"
#include "cluster/block_store.h"
#include "cluster/optimizer_memory.h"

namespace yoke::cluster {

struct VersionedOptions {
  bool state_per_replica = false;
  double delay_compensation = 0;  // lambda; not 0: a copy of what each replica computes on is kept
};

class VersionedStore : public BlockStore {
 public:
  // `plan` and `groups` outlive it.
  VersionedStore(const core::BlockPlan& plan, const std::vector<Optimizer>& groups, VersionedOptions options);

  void initialise(const Places& places) override;
  void attach(wire::ReplicaId replica, const Places& places) override;
  void detach(wire::ReplicaId replica) override;
  bool may_reduce(wire::ShardId shard) const override;
  void reduce(const core::Reduce& pass, std::span<const Part> parts) override;
  void publish(wire::ShardId shard) override;
  void pin(wire::ShardId shard, wire::ReplicaId replica) override;
  void copy(wire::ShardId shard, wire::ReplicaId replica) override;
  void unpin(wire::ShardId shard, wire::ReplicaId replica) override;

 private:
  struct Seat {  // one replica's
    Places places;
    unsigned reading = 0;             // the version being copied
    std::vector<AlignedFloats> then;  // by block: what it computes on (delay compensation)
  };
  OptimizerMemory& memory_of(wire::ReplicaId replica);

  const core::BlockPlan& plan_;
  const std::vector<Optimizer>& groups_;
  VersionedOptions options_;
  std::vector<AlignedFloats> values_[2];       // [version][block]
  std::vector<unsigned> present_;              // by shard
  std::vector<std::array<unsigned, 2>> pins_;  // by shard and version
  std::map<wire::ReplicaId, Seat> seats_;
  std::map<wire::ReplicaId, OptimizerMemory> memories_;  // one (of replica 0), or one a replica
  std::vector<OptimizerMemory*> touched_;                // by block: whose state the pass under way writes
};

}  // namespace yoke::cluster
