#include "cluster/in_place_store.h"

#include <algorithm>

namespace yoke::cluster {

InPlaceStore::InPlaceStore(const core::BlockPlan& plan, const std::vector<Optimizer>& groups, bool mirrored)
    : plan_(plan), groups_(groups), mirrored_(mirrored), memory_(plan, groups, 1) {}

void InPlaceStore::initialise(const Places& places) {
  for (const auto& block : plan_.blocks) {
    const auto from = places[block.slot].subspan(block.offset, mirrored_ && !block.averaged ? 0 : block.size);
    values_.emplace_back(from.begin(), from.end());
  }
}

void InPlaceStore::copy(wire::ShardId shard, wire::ReplicaId replica) {
  for (auto id : plan_.of_shard[shard]) {
    const auto& block = plan_.blocks[id];
    if (!block.averaged) continue;
    const auto to = places_.at(replica)[block.slot].subspan(block.offset, block.size);
    std::copy(values_[id].begin(), values_[id].end(), to.begin());
  }
}

// Where the replicas have the only ones, all have the same. When all have gone there is nothing.
std::span<const float> InPlaceStore::present(wire::BlockId id) const {
  if (!values_[id].empty()) return values_[id];
  if (places_.empty()) return {};
  const auto& block = plan_.blocks[id];
  return places_.begin()->second[block.slot].subspan(block.offset, block.size);
}

void InPlaceStore::attach(wire::ReplicaId replica, const Places& places) { places_[replica] = places; }

void InPlaceStore::detach(wire::ReplicaId replica, bool keep_values) {
  if (keep_values && places_.size() == 1 && places_.contains(replica)) hold_values();
  places_.erase(replica);
}

void InPlaceStore::hold_values() {
  for (const auto& block : plan_.blocks) {
    const auto values = present(block.id);
    if (values_[block.id].empty()) values_[block.id].assign(values.begin(), values.end());
  }
}

void InPlaceStore::reduce(const core::Reduce& pass, std::span<const Part> parts) {
  if (parts.empty()) return;  // what is carried over is there already
  const auto& block = plan_.blocks[pass.block];
  std::vector<kernel::Input> inputs;
  inputs.reserve(parts.size());
  for (const auto& part : parts) inputs.push_back({part.values, static_cast<float>(part.weight)});
  std::vector<float*> outputs;
  outputs.reserve(places_.size() + 1);
  if (auto& own = values_[block.id]; !own.empty()) outputs.push_back(own.data());
  for (const auto& [replica, places] : places_) outputs.push_back(places[block.slot].data() + block.offset);
  if (outputs.empty()) return;
  kernel::Block view{.size = block.size, .params_in = outputs.front(), .params_out = outputs.front()};
  const auto update = memory_.prepare(block.id, view);
  kernel::update(groups_[block.group], {.rate = pass.rate, .scale = pass.scale, .update = update}, inputs, view,
                 std::span(outputs).subspan(1));
  memory_.advance(block.id);
}

}  // namespace yoke::cluster
