#include <fmt/format.h>

#include <memory>

#include "checkpoint/write.h"
#include "sim/world.h"

namespace yoke::sim {

using std::chrono::microseconds;

namespace {

// Every block is a slot of its own there.
Layout layout_of(const core::BlockPlan& plan) {
  Layout layout;
  layout.groups = {SGD{}};
  for (const auto& block : plan.blocks) layout.slots.push_back({fmt::format("block{}", block.id), {4}});
  return layout;
}

}  // namespace

void World::ask_for_checkpoints() {
  if (shape_.recovery.checkpoint_every.count() == 0) return;
  after(fate_.between(Duration(1), 2 * shape_.recovery.checkpoint_every), [this] {
    // A job that is stuck is not to be kept busy with checkpoints.
    asked_in_vain_ = sequencer_.committed() == asked_at_ ? asked_in_vain_ + 1 : 0;
    asked_at_ = sequencer_.committed();
    const bool last = sequencer_.done() || asked_in_vain_ > 50;
    const auto at_least = fate_.chance(0.3) ? sequencer_.committed() + fate_.below(6) : 0;
    trace([&] { return fmt::format("checkpoint {} is asked for, of version {} or later", next_token_, at_least); });
    deliver(wire::kSequencer, core::TakeCheckpoint{next_token_++, at_least});
    if (!last) ask_for_checkpoints();
  });
}

checkpoint::Place World::place_of(std::uint64_t token, wire::Version version, wire::ShardId shard) const {
  return {kCheckpointFolder, version, token, shard, shape_.plan.shards()};
}

Duration World::disk_time() {
  const auto time = fate_.between(microseconds(20), microseconds(2000));
  return Duration(static_cast<std::int64_t>(static_cast<double>(time.count()) * shape_.recovery.slow_disk));
}

std::optional<Status> World::fault(std::uint64_t number, std::string_view operation, const std::string& path) {
  if (doom_ && number >= *doom_) throw JobLost{};
  const bool fails = !peace() && fate_.chance(shape_.recovery.disk_fails);
  trace([&] { return fmt::format("the disk: {} {}{}", operation, path, fails ? " fails" : ""); });
  if (!fails) return std::nullopt;
  return Status(Error{Code::missing, fmt::format("{}: {} failed", path, operation)});
}

// The values are those of this moment, whenever they are written.
void World::capture(wire::ShardId shard, const core::Capture& effect) {
  marked_[effect.token] = effect.version;
  checkpoint::Part part;
  for (const auto block : shape_.plan.of_shard[shard]) {
    const auto floats = std::make_shared<const std::vector<float>>(to_floats(values_.present(block)));
    part.pieces.push_back({{0, fmt::format("block{}", block)}, {4}, 0, *floats});
    part.owners.push_back(floats);
  }
  after(disk_time(), [this, shard, effect, part = std::move(part)] {
    if (!peace() && fate_.chance(shape_.recovery.disk_full)) disk_.hold_at_most(fate_.below(4000));
    const auto sum = checkpoint::write_part(faulty_, place_of(effect.token, effect.version, shard), part);
    disk_.hold_at_most(UINT64_MAX);
    trace([&] {
      return fmt::format("shard {} {} its part of checkpoint {}, version {}", shard, sum ? "has saved" : "cannot save",
                         effect.token, effect.version);
    });
    deliver(wire::shard_at(shard),
            core::Captured{effect.token, sum.ok(), sum ? *sum : 0, sum ? "" : sum.error().message});
  });
}

void World::seal(const core::Seal& effect) {
  after(disk_time(), [this, effect] {
    checkpoint::Manifest manifest;
    manifest.version = effect.standing.version;
    manifest.networks.push_back({effect.standing, layout_of(shape_.plan), shape_.plan.shards(), {}});
    const auto status = checkpoint::seal(faulty_, place_of(effect.token, manifest.version, 0), manifest, effect.sums);
    trace([&] {
      return fmt::format("checkpoint {} is {}", effect.token, status ? "sealed" : "not: " + status.error().message);
    });
    deliver(wire::kSequencer, core::Sealed{effect.token, status.ok(), status ? "" : status.error().message});
  });
}

void World::announce(const core::Announce& effect) {
  trace([&] { return fmt::format("checkpoint {} of version {} is announced", effect.token, effect.version); });
  ++outcome_.counts.checkpoints;
  if (!disk_.exists(checkpoint::sealed_path(kCheckpointFolder, effect.version)).or_throw())
    outcome_.violations.push_back(
        fmt::format("a checkpoint of version {} was announced and is not there", effect.version));
  rotten_.erase(effect.version);
  static_cast<void>(checkpoint::prune(faulty_, kCheckpointFolder, shape_.recovery.keep, effect.version));
}

}  // namespace yoke::sim
