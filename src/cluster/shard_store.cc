#include "cluster/shard_store.h"

#include <algorithm>

namespace yoke::cluster {

ShardStore::ShardStore(const core::BlockPlan& plan, const std::vector<Optimizer>& groups, wire::ShardId shard,
                       UpdateOptions options, Allocate allocate)
    : plan_(plan),
      shard_(shard),
      options_(options),
      allocate_(std::move(allocate)),
      updates_(plan, groups, options, shard, allocate_) {
  constexpr std::size_t kLine = 64 / sizeof(float);
  for (const auto id : plan_.of_shard[shard_]) {
    offsets_[id] = floats_;
    floats_ += (plan_.blocks[id].size + kLine - 1) / kLine * kLine;
  }
  present_ = allocate_(bytes());
}

float* ShardStore::at(const Memory& version, wire::BlockId block) const {
  return reinterpret_cast<float*>(version.get()) + offsets_.at(block);
}

void ShardStore::initialise(wire::BlockId block, std::span<const float> values) {
  std::copy(values.begin(), values.end(), at(present_, block));
}

void ShardStore::go_on_from(ShardStore& former, bool same_optimizers) {
  present_ = std::move(former.present_);
  if (same_optimizers && options_.state_per_replica == former.options_.state_per_replica)
    updates_.go_on_from(former.updates_);
}

void ShardStore::keep_values_only() {
  next_.reset();
  then_.clear();
}

bool ShardStore::prepare_next(std::span<const core::Share> shares) {
  if (!next_) next_ = allocate_(bytes());
  for (const auto& share : shares) updates_.expect(share.gradient.life.replica);
  return next_ != nullptr;
}

bool ShardStore::reduce(const core::Reduce& pass, std::span<const Part> parts) {
  return updates_.run(pass, parts, at(present_, pass.block), at(next_, pass.block));
}

bool ShardStore::reduce_by_mean(const core::Reduce& pass, std::span<const Part> parts, float* mean) {
  if (parts.empty()) return reduce(pass, parts);
  if (!updates_.average(pass, parts, at(present_, pass.block), mean)) return false;
  auto alone = pass;
  alone.scale = 1;  // it is in the mean
  const Part whole{parts.front().replica, mean, 1};
  return reduce(alone, {&whole, 1});
}

void ShardStore::drop_next() {
  next_.reset();
  for (const auto id : plan_.of_shard[shard_]) updates_.forget(id);
}

void ShardStore::publish(wire::Version version) {
  present_ = std::move(next_);
  version_ = version;
  for (const auto id : plan_.of_shard[shard_])
    if (updates_.advance(id)) made_[id] = version;
}

ShardStore::Values ShardStore::present(wire::BlockId block) const {
  const auto made = made_.find(block);
  return {{at(present_, block), plan_.blocks[block].size}, present_, made == made_.end() ? 0 : made->second};
}

ShardStore::Values ShardStore::next(wire::BlockId block) const {
  auto values = present(block);
  if (updates_.touched(block)) values.made = version_ + 1;
  return {{at(next_, block), plan_.blocks[block].size}, next_, values.made};
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
