// Checkpoints of a cluster in one process. What is captured is copied, under the lock: the replicas' own parameters may
// be the only place where it is.
#include <fmt/format.h>

#include "cluster/checkpoint_parts.h"
#include "cluster/local_cluster.h"
#include "cluster/terms.h"

namespace yoke::cluster {

// The values of what is gone on from, into the chief's places; and what the optimizer remembers.
Status LocalCluster::load(const Places& places) {
  auto* checkpointer = options_.checkpointer;
  if (!checkpointer) return {};
  for (SlotId slot = 0; slot < layout_.slots.size(); ++slot)
    if (layout_.slots[slot].frozen) frozen_.emplace_back(places[slot].begin(), places[slot].end());
  const auto& from = checkpointer->resumed();
  if (!from) return {};
  if (auto checked = checkpointer->check(options_.network, layout_, terms_.seed, terms_.shuffle); !checked)
    return checked;
  frozen_.clear();
  for (SlotId slot = 0; slot < layout_.slots.size(); ++slot) {
    auto read =
        from->read({options_.network, layout_.slots[slot].name, checkpoint::Kind::values, 0, 0}, 0, places[slot]);
    if (!read) return read;
    if (layout_.slots[slot].frozen) frozen_.emplace_back(places[slot].begin(), places[slot].end());
  }
  const bool per_replica = terms_.optimizer_state == OptimizerState::per_replica;
  std::atomic<std::uint64_t> nobody_watches{0};
  for (const auto whose : from->memories(options_.network))
    for (wire::ShardId shard = 0; shard < plan_.shards(); ++shard)
      if (per_replica ? whose < terms_.replicas : whose == 0)
        if (auto read = load_state(*from, options_.network, layout_, plan_, shard, whose, store_->memory_of(whose),
                                   nobody_watches);
            !read)
          return read;
  return {};
}

std::optional<core::TakeCheckpoint> LocalCluster::due() {
  auto& checkpointer = *options_.checkpointer;
  if (!checkpointer.writes() || tally_.assigned() == 0) return {};
  if (options_.network > 0) return checkpointer.follow(options_.network);
  const auto committed = sequencer_.committed();
  if (!sequencer_.done()) return checkpointer.due(committed, now());
  if (std::exchange(last_asked_, true)) return {};
  if (checkpointer.has(committed)) return {};
  store_->hold_values();  // when its turn comes, the replicas may be doing something else with theirs
  return core::TakeCheckpoint{checkpointer.request(committed).token, 0};
}

void LocalCluster::capture(wire::ShardId shard, const core::Capture& capture) {
  const auto failed = [&](const char* why) {
    inbox_.emplace_back(wire::shard_at(shard), core::Captured{capture.token, false, 0, why});
  };
  if (redirected_) return failed("the optimizer is the user's own, and what it remembers is not to be had");
  checkpoint::Part part;
  for (const auto id : plan_.of_shard[shard]) {
    const auto present = store_->present(id);
    if (present.empty()) return failed("every replica has left, and the parameters with them");
    const auto copy = std::make_shared<AlignedFloats>(present.begin(), present.end());
    add_values(part, options_.network, layout_, plan_.blocks[id], *copy, copy);
  }
  for (SlotId slot = 0, at = 0; shard == 0 && slot < layout_.slots.size(); ++slot)
    if (layout_.slots[slot].frozen) add_frozen(part, options_.network, layout_.slots[slot], frozen_[at++], nullptr);
  for (const auto& [whose, memory] : store_->memories())
    add_state(part, options_.network, layout_, plan_, shard, whose, *memory);
  const auto token = capture.token;
  options_.checkpointer->write(
      options_.network, {"", capture.version, token, shard, plan_.shards()}, std::move(part),
      [this, shard, token](const Result<std::uint64_t>& sum) {
        const Lock lock(mutex_);
        deliver(wire::shard_at(shard), core::Captured{token, sum.ok(), sum ? *sum : 0, sum ? "" : sum.error().message});
      });
}

void LocalCluster::seal(const core::Seal& seal) {
  options_.checkpointer->seal(
      options_.network, seal, {seal.standing, layout_, plan_.shards(), options_.about},
      job_facts(terms_, seal.standing), std::chrono::duration<double>(now()).count(),
      [this, token = seal.token](const Status& status) {
        const Lock lock(mutex_);
        deliver(wire::kSequencer, core::Sealed{token, status.ok(), status ? "" : status.error().message});
      });
}

void LocalCluster::discard(const core::Discard& discard) {
  options_.checkpointer->discard(discard);
  if (options_.network > 0) return;
  if (options_.say)
    options_.say(
        fmt::format("the checkpoint failed: {}; training goes on, and the last good one stays", discard.reason));
}

void LocalCluster::announce(const core::Announce& announce) {
  if (options_.network > 0) return;
  options_.checkpointer->announced();
  if (options_.say)
    options_.say(fmt::format("checkpoint of version {}: {}", announce.version, options_.checkpointer->newest().folder));
}

void LocalCluster::wind_up() {
  if (!options_.checkpointer || !options_.checkpointer->writes()) return;
  const Lock lock(mutex_);
  if (tally_.assigned() > 0 && !sequencer_.done()) deliver(wire::kSequencer, core::Stop{kEndsEarly});
}

void LocalCluster::await_disk() {
  if (options_.checkpointer) options_.checkpointer->hurry();
  Lock lock(mutex_);
  const auto give_up = now() + kLastCheckpoint;
  while (sequencer_.checkpointing() && now() < give_up) wake_.wait_for(lock, give_up - now());
}

}  // namespace yoke::cluster
