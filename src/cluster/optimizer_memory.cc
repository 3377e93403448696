#include "cluster/optimizer_memory.h"

#include <algorithm>
#include <new>

namespace yoke::cluster {

std::shared_ptr<std::byte> own_memory(std::size_t bytes) {
  constexpr std::align_val_t kLine{64};
  auto* at = static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), kLine, std::nothrow));
  if (!at) return nullptr;
  return {at, [](std::byte* memory) { ::operator delete(memory, kLine); }};
}

OptimizerMemory::OptimizerMemory(const core::BlockPlan& plan, const std::vector<Optimizer>& groups, unsigned versions,
                                 std::optional<wire::ShardId> shard, Allocate allocate)
    : versions_(versions), allocate_(std::move(allocate)), entries_(plan.blocks.size()) {
  for (const auto& block : plan.blocks) {
    if (shard && block.shard != *shard) continue;
    const auto& optimizer = groups.at(block.group);
    for (std::size_t i = 0; i < kernel::states_of(optimizer); ++i)
      for (unsigned v = 0; v < versions; ++v) {
        auto& array = entries_[block.id].arrays[v * kernel::kMaxStates + i] = make(block.size);
        std::fill_n(array.data(), array.size, kernel::initial_state(optimizer, i));
      }
  }
}

OptimizerMemory::Array OptimizerMemory::make(std::size_t size) const {
  Array array{allocate_(size * sizeof(float)), size};
  if (!array.memory) throw std::bad_alloc();
  return array;
}

std::uint64_t OptimizerMemory::prepare(wire::BlockId id, kernel::Block& block) {
  auto& entry = entries_[id];
  const auto next = (entry.present + 1) % versions_;
  for (std::size_t i = 0; i < kernel::kMaxStates; ++i) {
    const auto& in = entry.arrays[entry.present * kernel::kMaxStates + i];
    auto& out = entry.arrays[next * kernel::kMaxStates + i];
    if (!in.memory) continue;
    // It is theirs, also if they let go of it by now: only the memory's owner knows that what they read was read.
    if (out.given_out) out = make(out.size);
    block.state_in[i] = in.data();
    block.state_out[i] = out.data();
  }
  return entry.updates + 1;
}

std::vector<std::span<const float>> OptimizerMemory::present(wire::BlockId id) const {
  const auto& entry = entries_[id];
  std::vector<std::span<const float>> arrays;
  for (std::size_t i = 0; i < kernel::kMaxStates; ++i)
    if (const auto& array = entry.arrays[entry.present * kernel::kMaxStates + i]; array.memory)
      arrays.push_back(array.values());
  return arrays;
}

std::vector<OptimizerMemory::Held> OptimizerMemory::hold(wire::BlockId id) {
  return give_out(id, entries_[id].present);
}

std::vector<OptimizerMemory::Held> OptimizerMemory::hold_next(wire::BlockId id) {
  return give_out(id, (entries_[id].present + 1) % versions_);
}

std::vector<OptimizerMemory::Held> OptimizerMemory::give_out(wire::BlockId id, unsigned version) {
  std::vector<Held> arrays;
  for (std::size_t i = 0; i < kernel::kMaxStates; ++i) {
    auto& array = entries_[id].arrays[version * kernel::kMaxStates + i];
    if (!array.memory) continue;
    if (versions_ == 1) {
      const auto copy = make(array.size);
      std::copy_n(array.data(), array.size, copy.data());
      arrays.push_back({copy.values(), copy.memory});
    } else {
      array.given_out = true;
      arrays.push_back({array.values(), array.memory});
    }
  }
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
