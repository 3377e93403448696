#include "cluster/shard_store.h"

#include <algorithm>
#include <cstring>

namespace yoke::cluster {

ShardStore::ShardStore(const core::BlockPlan& plan, const std::vector<Optimizer>& groups, wire::ShardId shard,
                       VersionedOptions options, Allocate allocate)
    : plan_(plan),
      groups_(groups),
      shard_(shard),
      options_(options),
      allocate_(std::move(allocate)),
      touched_(plan.blocks.size(), nullptr) {
  constexpr std::size_t kLine = 64 / sizeof(float);
  for (const auto id : plan_.of_shard[shard_]) {
    offsets_[id] = floats_;
    floats_ += (plan_.blocks[id].size + kLine - 1) / kLine * kLine;
  }
  present_ = allocate_(bytes());
  if (!options_.state_per_replica) memories_.try_emplace(0, plan_, groups_, 2, shard_);
}

float* ShardStore::at(const Memory& version, wire::BlockId block) const {
  return reinterpret_cast<float*>(version.get()) + offsets_.at(block);
}

void ShardStore::initialise(wire::BlockId block, std::span<const float> values) {
  std::copy(values.begin(), values.end(), at(present_, block));
}

bool ShardStore::prepare_next(std::span<const core::Share> shares) {
  if (!next_) next_ = allocate_(bytes());
  if (options_.state_per_replica)
    for (const auto& share : shares) memories_.try_emplace(share.gradient.life.replica, plan_, groups_, 2, shard_);
  return next_ != nullptr;
}

void ShardStore::reduce(const core::Reduce& pass, std::span<const Part> parts) {
  const auto& block = plan_.blocks[pass.block];
  const float* from = at(present_, block.id);
  float* to = at(next_, block.id);
  if (parts.empty()) {  // carried over, and the state stands
    std::memcpy(to, from, block.size * sizeof(float));
    return;
  }
  std::vector<kernel::Input> inputs;
  inputs.reserve(parts.size());
  for (const auto& part : parts) inputs.push_back({part.values, static_cast<float>(part.weight), part.then});
  kernel::Block view{.size = block.size, .params_in = from, .params_out = to};
  auto& memory = memories_.at(options_.state_per_replica ? parts.front().replica : 0);
  touched_[block.id] = &memory;
  kernel::Scalars scalars{.rate = pass.rate, .scale = pass.scale, .compensation = options_.delay_compensation};
  if (block.averaged) scalars.compensation = 0;
  scalars.update = memory.prepare(block.id, view);
  kernel::update(groups_[block.group], scalars, inputs, view);
}

void ShardStore::publish(wire::Version version) {
  present_ = std::move(next_);
  for (const auto id : plan_.of_shard[shard_])
    if (auto*& memory = touched_[id]) {
      made_[id] = version;
      memory->advance(id);
      memory = nullptr;
    }
}

ShardStore::Values ShardStore::present(wire::BlockId block) const {
  const auto made = made_.find(block);
  return {{at(present_, block), plan_.blocks[block].size}, present_, made == made_.end() ? 0 : made->second};
}

void ShardStore::find_then(wire::BlockId block, Part& part) const {
  const auto it = then_.find(part.replica);
  if (it == then_.end()) return;
  part.then = at(it->second, block);
  part.then_keep = it->second;
}

void ShardStore::shown_to(wire::ReplicaId replica) {
  if (options_.delay_compensation != 0) then_[replica] = present_;
}

}  // namespace yoke::cluster
