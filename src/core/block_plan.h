// How a model is cut into blocks and the blocks are spread over shards. A pure function of the layout and the number of
// shards: every replica and server computes the same plan.
#pragma once

#include <cstddef>
#include <vector>

#include "wire/messages.h"
#include "yoke/trainable.h"

namespace yoke::core {

// A slice of one slot. Blocks never straddle slots, and so never groups.
struct Block {
  wire::BlockId id = 0;
  SlotId slot = 0;
  std::size_t offset = 0;  // in floats, within the slot
  std::size_t size = 0;    // in floats
  std::uint32_t group = 0;
  bool averaged = false;  // of a buffer
  wire::ShardId shard = 0;
};

struct BlockPlan {
  std::vector<Block> blocks;                         // by id, in slot order
  std::vector<std::vector<wire::BlockId>> of_shard;  // at least one block each
  std::vector<std::vector<wire::BlockId>> of_slot;
  std::uint32_t shards() const { return static_cast<std::uint32_t>(of_shard.size()); }
};

// Blocks of about 1 MiB; smaller in small models, so that each shard has several and the work spreads evenly. Fewer
// shards than asked for when there are fewer blocks. Frozen slots have none. The layout has at least one element to
// train.
BlockPlan plan_blocks(const Layout& layout, std::uint32_t shards);

}  // namespace yoke::core
