#include "cluster/checkpoint_parts.h"

#include <set>

namespace yoke::cluster {

using checkpoint::Kind;

void add_values(checkpoint::Part& part, std::uint32_t network, const Layout& layout, const core::Block& block,
                std::span<const float> values, std::shared_ptr<const void> keep) {
  const auto& slot = layout.slots[block.slot];
  part.pieces.push_back({{network, slot.name, Kind::values, 0, 0}, slot.shape, block.offset, values});
  part.owners.push_back(std::move(keep));
}

void add_frozen(checkpoint::Part& part, std::uint32_t network, const Slot& slot, std::span<const float> values,
                std::shared_ptr<const void> keep) {
  part.pieces.push_back({{network, slot.name, Kind::values, 0, 0}, slot.shape, 0, values});
  part.owners.push_back(std::move(keep));
}

void add_state(checkpoint::Part& part, std::uint32_t network, const Layout& layout, const core::BlockPlan& plan,
               wire::ShardId shard, wire::ReplicaId whose, OptimizerMemory& memory, bool always) {
  std::set<SlotId> counted;
  for (const auto id : plan.of_shard[shard]) {
    const auto& block = plan.blocks[id];
    const auto& slot = layout.slots[block.slot];
    if (counted.insert(block.slot).second) part.counts.push_back({network, slot.name, whose, memory.updates(id)});
    if (memory.updates(id) == 0 && !always) continue;  // it is as the optimizer begins
    std::uint32_t array = 0;
    for (const auto& held : memory.hold(id)) {
      part.pieces.push_back({{network, slot.name, Kind::state, whose, array++}, slot.shape, block.offset, held.values});
      part.owners.push_back(held.keep);
    }
  }
}

namespace {

const Optimizer* optimizer_in(const checkpoint::Checkpoint& from, std::uint32_t network, const std::string& name) {
  const auto& layout = from.manifest().networks[network].layout;
  for (const auto& slot : layout.slots)
    if (slot.name == name) return &layout.groups[slot.group];
  return nullptr;
}

// What the one remembers can be gone on with by the other.
bool means_the_same(const Optimizer* then, const Optimizer& now) {
  if (!then || then->index() != now.index()) return false;
  const auto* a = std::get_if<RMSProp>(then);
  const auto* b = std::get_if<RMSProp>(&now);
  return !a || (a->centered == b->centered && (a->momentum > 0) == (b->momentum > 0));
}

}  // namespace

Status load_state(const checkpoint::Checkpoint& from, std::uint32_t network, const Layout& layout,
                  const core::BlockPlan& plan, wire::ShardId shard, wire::ReplicaId whose, OptimizerMemory& memory,
                  std::atomic<std::uint64_t>& progress) {
  for (const auto id : plan.of_shard[shard]) {
    const auto& block = plan.blocks[id];
    const auto& slot = layout.slots[block.slot];
    const auto updates = from.updates(network, slot.name, whose, block.offset, block.offset + block.size);
    if (updates == 0) continue;
    std::vector<std::vector<float>> arrays(memory.present(id).size());
    if (from.arrays(network, slot.name, whose) != arrays.size()) continue;
    if (!means_the_same(optimizer_in(from, network, slot.name), layout.groups[slot.group])) continue;  // it begins anew
    for (std::uint32_t array = 0; array < arrays.size(); ++array) {
      arrays[array].resize(block.size);
      progress.fetch_add(1, std::memory_order_relaxed);
      auto read = from.read({network, slot.name, Kind::state, whose, array}, block.offset, arrays[array]);
      if (!read) return read;
    }
    memory.restore(id, updates, arrays);
  }
  return {};
}

}  // namespace yoke::cluster
