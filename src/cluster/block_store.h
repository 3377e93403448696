// Where the values of the blocks live, and the passes over them. Two kinds: on servers, in two versions (central
// strategies), or in the replicas' own parameters (mirrored). Not thread-safe by itself: the caller says below what
// runs under its lock and what outside of it.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "cluster/optimizer_memory.h"
#include "core/block_plan.h"
#include "core/effects.h"
#include "kernel/pass.h"

namespace yoke::cluster {

// Where each slot's values live in one replica.
using Places = std::vector<std::span<float>>;

// One gradient's bytes for a pass.
struct Part {
  wire::ReplicaId replica = 0;
  const float* values = nullptr;
  double weight = 1;
  const float* then = nullptr;              // delay compensation on servers: the values it was computed on ...
  std::shared_ptr<const void> then_keep{};  // ... and who owns them
};

class BlockStore {
 public:
  virtual ~BlockStore() = default;
  // The chief's values become version 0. Before anything else.
  virtual void initialise(const Places& places) = 0;
  // A replica takes part, with its values in these places; again: in other ones from now on. (Under the lock.)
  virtual void attach(wire::ReplicaId replica, const Places& places) = 0;
  // Its memory is touched no more. `keep_values`: where the replicas have the only values, the last one leaves a copy
  // behind. (Under the lock, while no pass runs.)
  virtual void detach(wire::ReplicaId replica, bool keep_values) = 0;

  // May the shard's next version be written? (Under the lock.)
  virtual bool may_reduce(wire::ShardId shard) const = 0;
  // Writes the block's next version. (Outside the lock; different blocks at the same time.)
  virtual void reduce(const core::Reduce& pass, std::span<const Part> parts) = 0;
  // The next version of the shard's blocks is the present one. (Under the lock.)
  virtual void publish(wire::ShardId shard) = 0;

  // The block's present values, and what the optimizer remembers: one for all replicas (of replica 0) or one each.
  // (Under the lock, while no pass over the shard runs.)
  virtual std::span<const float> present(wire::BlockId block) const = 0;
  virtual std::map<wire::ReplicaId, OptimizerMemory*> memories() = 0;
  // Training is over: where the replicas have the only values, a copy of them is what is present from now on. (Under
  // the lock, while all replicas wait.)
  virtual void hold_values() {}
  // That of a replica; made where there was none.
  virtual OptimizerMemory& memory_of(wire::ReplicaId replica) = 0;

  // Brings the shard's present version into the replica's places. `pin` and `unpin` under the lock, `copy` outside.
  virtual void pin(wire::ShardId shard, wire::ReplicaId replica) = 0;
  virtual void copy(wire::ShardId shard, wire::ReplicaId replica) = 0;
  virtual void unpin(wire::ShardId shard, wire::ReplicaId replica) = 0;
};

}  // namespace yoke::cluster
