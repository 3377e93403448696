#include "cluster/versioned_store.h"

#include <algorithm>
#include <cstring>

namespace yoke::cluster {

VersionedStore::VersionedStore(const core::BlockPlan& plan, const std::vector<Optimizer>& groups, UpdateOptions options)
    : plan_(plan),
      options_(options),
      updates_(plan, groups, options),
      present_(plan.shards(), 0),
      pins_(plan.shards()) {
  for (auto& version : values_) {
    version.resize(plan.blocks.size());
    for (const auto& block : plan.blocks) version[block.id].resize(block.size);
  }
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
  updates_.expect(replica);
}

// A seat is left standing: a complete gradient of a replica that is gone still counts, with its state and its copy.
void VersionedStore::detach(wire::ReplicaId replica, bool) { seats_.at(replica).places.clear(); }

std::map<wire::ReplicaId, OptimizerMemory*> VersionedStore::memories() {
  std::map<wire::ReplicaId, OptimizerMemory*> all;
  for (auto& [replica, memory] : updates_.memories()) all[replica] = &memory;
  return all;
}

bool VersionedStore::may_reduce(wire::ShardId shard) const { return pins_[shard][1 - present_[shard]] == 0; }

void VersionedStore::reduce(const core::Reduce& pass, std::span<const Part> parts) {
  const auto& block = plan_.blocks[pass.block];
  const auto present = present_[block.shard];
  std::vector<Part> all(parts.begin(), parts.end());
  if (options_.delay_compensation != 0)
    for (auto& part : all) part.then = seats_.at(part.replica).then[block.id].data();
  updates_.run(pass, all, values_[present][block.id].data(), values_[1 - present][block.id].data());
}

void VersionedStore::publish(wire::ShardId shard) {
  present_[shard] = 1 - present_[shard];
  for (auto id : plan_.of_shard[shard]) updates_.advance(id);
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
