// What an optimizer remembers of each block: its state arrays and how often it was updated.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cluster/aligned.h"
#include "core/block_plan.h"
#include "kernel/pass.h"

namespace yoke::cluster {

// Memory for so many bytes, at a cache line; null: there is none.
using Allocate = std::function<std::shared_ptr<std::byte>(std::size_t)>;
std::shared_ptr<std::byte> own_memory(std::size_t bytes);

class OptimizerMemory {
 public:
  // `versions` is 2 where the old state must survive until the new one is committed, else 1 (in place). `shard`: only
  // of that shard's blocks.
  OptimizerMemory(const core::BlockPlan& plan, const std::vector<Optimizer>& groups, unsigned versions,
                  std::optional<wire::ShardId> shard = {}, Allocate allocate = own_memory);

  // Points `block` at the state to read and the state to write; returns which update this is, from 1.
  std::uint64_t prepare(wire::BlockId id, kernel::Block& block);
  // The present state, an array each, and how many updates made it.
  std::vector<std::span<const float>> present(wire::BlockId id) const;
  std::uint64_t updates(wire::BlockId id) const { return entries_[id].updates; }
  // The same, to be held: the next update of what was given out writes elsewhere, or what is given out is a copy (in
  // place).
  struct Held {
    std::span<const float> values;
    std::shared_ptr<const void> keep;
  };
  std::vector<Held> hold(wire::BlockId id);
  // What was written, and is not the present state yet.
  std::vector<Held> hold_next(wire::BlockId id);
  void restore(wire::BlockId id, std::uint64_t updates, std::span<const std::vector<float>> arrays);
  // The update is done: the written state is the present one.
  void advance(wire::BlockId id);

 private:
  struct Array {
    std::shared_ptr<std::byte> memory;  // null: the optimizer has no such state
    std::size_t size = 0;
    bool given_out = false;
    float* data() const { return reinterpret_cast<float*>(memory.get()); }
    std::span<const float> values() const { return {data(), size}; }
  };
  Array make(std::size_t size) const;
  std::vector<Held> give_out(wire::BlockId id, unsigned version);

  struct Entry {
    // [version * kMaxStates + index]
    std::array<Array, 2 * kernel::kMaxStates> arrays;
    unsigned present = 0;
    std::uint64_t updates = 0;
  };
  unsigned versions_;
  Allocate allocate_;
  std::vector<Entry> entries_;  // by block
};

}  // namespace yoke::cluster
