#include "cluster/optimizer_memory.h"

#include <algorithm>

namespace yoke::cluster {

OptimizerMemory::OptimizerMemory(const core::BlockPlan& plan, const std::vector<Optimizer>& groups, unsigned versions,
                                 std::optional<wire::ShardId> shard)
    : versions_(versions), entries_(plan.blocks.size()) {
  for (const auto& block : plan.blocks) {
    if (shard && block.shard != *shard) continue;
    const auto& optimizer = groups.at(block.group);
    for (std::size_t i = 0; i < kernel::states_of(optimizer); ++i)
      for (unsigned v = 0; v < versions; ++v)
        entries_[block.id].arrays[v * kernel::kMaxStates + i].assign(block.size, kernel::initial_state(optimizer, i));
  }
}

std::uint64_t OptimizerMemory::prepare(wire::BlockId id, kernel::Block& block) {
  auto& entry = entries_[id];
  const auto next = (entry.present + 1) % versions_;
  for (std::size_t i = 0; i < kernel::kMaxStates; ++i) {
    block.state_in[i] = entry.arrays[entry.present * kernel::kMaxStates + i].data();
    block.state_out[i] = entry.arrays[next * kernel::kMaxStates + i].data();
  }
  return entry.updates + 1;
}

std::vector<std::span<const float>> OptimizerMemory::present(wire::BlockId id) const {
  const auto& entry = entries_[id];
  std::vector<std::span<const float>> arrays;
  for (std::size_t i = 0; i < kernel::kMaxStates; ++i)
    if (const auto& array = entry.arrays[entry.present * kernel::kMaxStates + i]; !array.empty())
      arrays.emplace_back(array.data(), array.size());
  return arrays;
}

void OptimizerMemory::restore(wire::BlockId id, std::uint64_t updates, std::span<const std::vector<float>> arrays) {
  auto& entry = entries_[id];
  entry.updates = updates;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    std::copy(arrays[i].begin(), arrays[i].end(), entry.arrays[entry.present * kernel::kMaxStates + i].data());
}

void OptimizerMemory::advance(wire::BlockId id) {
  auto& entry = entries_[id];
  entry.present = (entry.present + 1) % versions_;
  ++entry.updates;
}

}  // namespace yoke::cluster
