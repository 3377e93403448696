#include "cluster/block_updates.h"

#include <cstring>
#include <utility>

namespace yoke::cluster {

Inputs::Inputs(std::span<const Part> parts) : size_(parts.size()) {
  if (size_ > few_.size()) many_.resize(size_);
  auto* input = many_.empty() ? few_.data() : many_.data();
  for (const auto& part : parts) *input++ = {part.values, static_cast<float>(part.weight), part.then};
}

Inputs::operator std::span<const kernel::Input>() const { return {many_.empty() ? few_.data() : many_.data(), size_}; }

BlockUpdates::BlockUpdates(const core::BlockPlan& plan, const std::vector<Optimizer>& groups, UpdateOptions options,
                           std::optional<wire::ShardId> shard, Allocate allocate)
    : plan_(plan),
      groups_(groups),
      options_(options),
      shard_(shard),
      allocate_(std::move(allocate)),
      touched_(plan.blocks.size(), nullptr) {
  if (!options_.state_per_replica) memories_.try_emplace(0, plan_, groups_, 2, shard_, allocate_);
}

void BlockUpdates::expect(wire::ReplicaId replica) {
  if (options_.state_per_replica) memories_.try_emplace(replica, plan_, groups_, 2, shard_, allocate_);
}

bool BlockUpdates::average(const core::Reduce& pass, std::span<const Part> parts, const float* from,
                           float* mean) const {
  const auto& block = plan_.blocks[pass.block];
  kernel::Scalars scalars{
      .scale = pass.scale, .compensation = block.averaged ? 0 : options_.delay_compensation, .check = pass.ahead};
  return kernel::update(Average{}, scalars, Inputs(parts), {.size = block.size, .params_in = from, .params_out = mean});
}

bool BlockUpdates::run(const core::Reduce& pass, std::span<const Part> parts, const float* from, float* to) {
  const auto& block = plan_.blocks[pass.block];
  if (parts.empty()) {  // carried over, and the state stands
    std::memcpy(to, from, block.size * sizeof(float));
    return true;
  }
  const Inputs inputs(parts);
  kernel::Block view{.size = block.size, .params_in = from, .params_out = to};
  auto& memory = memories_.at(options_.state_per_replica ? parts.front().replica : 0);
  touched_[block.id] = &memory;
  kernel::Scalars scalars{.rate = pass.rate, .scale = pass.scale, .compensation = options_.delay_compensation};
  if (block.averaged) scalars.compensation = 0;
  scalars.update = memory.prepare(block.id, view);
  scalars.check = pass.ahead;
  return kernel::update(groups_[block.group], scalars, inputs, view);
}

bool BlockUpdates::advance(wire::BlockId block) {
  auto* memory = std::exchange(touched_[block], nullptr);
  if (memory) memory->advance(block);
  return memory != nullptr;
}

}  // namespace yoke::cluster
