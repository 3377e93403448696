#include "cluster/mirrored_store.h"

#include <algorithm>

namespace yoke::cluster {

MirroredStore::MirroredStore(const core::BlockPlan& plan, const std::vector<Optimizer>& groups)
    : plan_(plan), groups_(groups), memory_(plan, groups, 1) {}

void MirroredStore::attach(wire::ReplicaId replica, const Places& places) { places_[replica] = places; }

void MirroredStore::detach(wire::ReplicaId replica) { places_.erase(replica); }

void MirroredStore::reduce(const core::Reduce& pass, std::span<const Part> parts) {
  if (parts.empty() || places_.empty()) return;  // in place: what is carried over is there already
  const auto& block = plan_.blocks[pass.block];
  std::vector<kernel::Input> inputs;
  inputs.reserve(parts.size());
  for (const auto& part : parts) inputs.push_back({part.values, static_cast<float>(part.weight)});
  float* const first = places_.begin()->second[block.slot].data() + block.offset;
  std::vector<float*> copies;
  for (auto it = std::next(places_.begin()); it != places_.end(); ++it)
    copies.push_back(it->second[block.slot].data() + block.offset);
  kernel::Block view{.size = block.size, .params_in = first, .params_out = first};
  const auto update = memory_.prepare(block.id, view);
  kernel::update(groups_[block.group], {.rate = pass.rate, .scale = pass.scale, .update = update}, inputs, view,
                 copies);
  memory_.advance(block.id);
}

}  // namespace yoke::cluster
