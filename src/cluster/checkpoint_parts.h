// Between a checkpoint and the blocks of a shard: what is written of them, and how they are filled from one.
#pragma once

#include <atomic>
#include <functional>
#include <map>

#include "checkpoint/checkpoint.h"
#include "checkpoint/write.h"
#include "cluster/optimizer_memory.h"
#include "core/block_plan.h"
#include "yoke/trainable.h"

namespace yoke::cluster {

// Adds a block's values, which `keep` owns, to a part.
void add_values(checkpoint::Part& part, std::uint32_t network, const Layout& layout, const core::Block& block,
                std::span<const float> values, std::shared_ptr<const void> keep);
// A slot that is not trained, as a whole.
void add_frozen(checkpoint::Part& part, std::uint32_t network, const Slot& slot, std::span<const float> values,
                std::shared_ptr<const void> keep);
// What the optimizer remembers of these blocks. It is held as it is where the next update writes elsewhere, else
// copied.
void add_state(checkpoint::Part& part, std::uint32_t network, const Layout& layout, const core::BlockPlan& plan,
               wire::ShardId shard, wire::ReplicaId whose, OptimizerMemory& memory, bool always = false);

// Fills what the optimizer remembers of a shard's blocks; counts in `progress` what it has read.
Status load_state(const checkpoint::Checkpoint& from, std::uint32_t network, const Layout& layout,
                  const core::BlockPlan& plan, wire::ShardId shard, wire::ReplicaId whose, OptimizerMemory& memory,
                  std::atomic<std::uint64_t>& progress);

}  // namespace yoke::cluster
