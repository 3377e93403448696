#include "cluster/versioned_store.h"

#include <algorithm>
#include <cstring>

namespace yoke::cluster {

VersionedStore::VersionedStore(const core::BlockPlan& plan, const std::vector<Optimizer>& groups,
                               VersionedOptions options)
    : plan_(plan),
      groups_(groups),
      options_(options),
      present_(plan.shards(), 0),
      pins_(plan.shards()),
      touched_(plan.blocks.size(), nullptr) {
  for (auto& version : values_) {
    version.resize(plan.blocks.size());
    for (const auto& block : plan.blocks) version[block.id].resize(block.size);
  }
  if (!options_.state_per_replica) memories_.try_emplace(0, plan_, groups_, 2);
}

void VersionedStore::initialise(const Places& places) {
  for (const auto& block : plan_.blocks) {
    const auto from = places[block.slot].subspan(block.offset, block.size);
    std::copy(from.begin(), from.end(), values_[0][block.id].begin());
  }
}

void VersionedStore::attach(wire::ReplicaId replica, const Places& places) {
  auto& seat = seats_[replica];
  seat.places = places;
  if (options_.delay_compensation != 0) {
    seat.then.resize(plan_.blocks.size());
    for (const auto& block : plan_.blocks) seat.then[block.id].resize(block.size);
  }
  if (options_.state_per_replica) memories_.try_emplace(replica, plan_, groups_, 2);
}

// A seat is left standing: a complete gradient of a replica that is gone still counts, with its state and its copy.
void VersionedStore::detach(wire::ReplicaId replica) { seats_.at(replica).places.clear(); }

bool VersionedStore::may_reduce(wire::ShardId shard) const { return pins_[shard][1 - present_[shard]] == 0; }

OptimizerMemory& VersionedStore::memory_of(wire::ReplicaId replica) {
  return memories_.at(options_.state_per_replica ? replica : 0);
}

void VersionedStore::reduce(const core::Reduce& pass, std::span<const Part> parts) {
  const auto& block = plan_.blocks[pass.block];
  const auto present = present_[block.shard];
  const auto& from = values_[present][block.id];
  auto& to = values_[1 - present][block.id];
  if (parts.empty()) {  // carried over, and the state stands
    std::memcpy(to.data(), from.data(), from.size() * sizeof(float));
    return;
  }
  std::vector<kernel::Input> inputs;
  inputs.reserve(parts.size());
  for (const auto& part : parts)
    inputs.push_back({part.values, static_cast<float>(part.weight),
                      options_.delay_compensation != 0 ? seats_.at(part.replica).then[block.id].data() : nullptr});
  kernel::Block view{.size = block.size, .params_in = from.data(), .params_out = to.data()};
  auto& memory = memory_of(parts.front().replica);
  touched_[block.id] = &memory;
  kernel::Scalars scalars{.rate = pass.rate, .scale = pass.scale, .compensation = options_.delay_compensation};
  if (block.averaged) scalars.compensation = 0;
  scalars.update = memory.prepare(block.id, view);
  kernel::update(groups_[block.group], scalars, inputs, view);
}

void VersionedStore::publish(wire::ShardId shard) {
  present_[shard] = 1 - present_[shard];
  for (auto id : plan_.of_shard[shard])
    if (auto*& memory = touched_[id]) {
      memory->advance(id);
      memory = nullptr;
    }
}

void VersionedStore::pin(wire::ShardId shard, wire::ReplicaId replica) {
  seats_.at(replica).reading = present_[shard];
  ++pins_[shard][present_[shard]];
}

void VersionedStore::copy(wire::ShardId shard, wire::ReplicaId replica) {
  auto& seat = seats_.at(replica);
  for (auto id : plan_.of_shard[shard]) {
    const auto& block = plan_.blocks[id];
    const auto& from = values_[seat.reading][id];
    std::memcpy(seat.places[block.slot].data() + block.offset, from.data(), from.size() * sizeof(float));
    if (!seat.then.empty()) std::memcpy(seat.then[id].data(), from.data(), from.size() * sizeof(float));
  }
}

void VersionedStore::unpin(wire::ShardId shard, wire::ReplicaId replica) { --pins_[shard][seats_.at(replica).reading]; }

}  // namespace yoke::cluster
