#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/checkpoint.h"
#include "sim/world.h"

namespace yoke::sim {

using std::chrono::milliseconds;

history::Terms World::terms() const {
  history::Terms terms{shape_.options, {}, shape_.samples, shape_.batch};
  for (const auto& blocks : shape_.plan.of_shard)
    terms.shard_blocks.push_back(static_cast<std::uint32_t>(blocks.size()));
  return terms;
}

core::Standing World::beginning() const {
  core::Standing standing{.samples = shape_.samples, .batch = shape_.batch};
  if (shape_.samples > 0) standing.ledger.emplace();
  return standing;
}

void World::make_machines(const std::optional<core::Standing>& standing) {
  sequencer_ = core::Sequencer(shape_.options, standing);
  const bool twins = shape_.twins && shape_.plan.shards() > 1;
  view_from_ = standing ? standing->version : 0;
  for (wire::ShardId shard = 0; shard < shape_.plan.shards(); ++shard)
    shards_.emplace_back(shard, shape_.plan, view_from_,
                         twins || (running_view_ && running_view_->shards[shard].filled));
  standings_.assign(shape_.plan.shards(), standing);
  next_standings_ = standings_;
  const auto replicas = shape_.options.replicas;
  processes_.resize(replicas);
  for (wire::ReplicaId replica = 0; replica < replicas; ++replica) processes_[replica].life.replica = replica;
  born_.resize(std::max<std::size_t>(born_.size(), replicas));
  heard_.resize(std::max<std::size_t>(heard_.size(), replicas));
}

void World::begin_job() {
  checkpoint::make_lasting(disk_, kCheckpointFolder).or_throw();  // or no job would begin
  footing_ = {};
  members_.clear();
  for (const auto& process : processes_) members_.push_back(process.life.replica);
  shape_.servers.coordinated ? begin_servers() : begin_work();
}

void World::begin_work() {
  for (const auto replica : members_) after(while_working(), [this, replica] { start(processes_[replica]); });
  break_links_until_peace();
  crash_until_peace();
  if (shape_.stop_at > now_) after(shape_.stop_at - now_, [this] { stop(); });
  drain_until_peace();
  stand_still_until_peace();
  ask_for_checkpoints();
  await_loss();
  await_departure();
}

void World::await_loss() {
  if (losses_left_ == 0 || doom_) return;
  --losses_left_;
  if (fate_.chance(0.5)) {  // in the middle of writing, if ever anything is written
    doom_ = faulty_.operations() + fate_.below(80);
    return;
  }
  after(fate_.between(milliseconds(1), milliseconds(120)), [this] {
    if (!sequencer_.done() || sequencer_.checkpointing()) throw JobLost{};
  });
}

void World::lose_job() {
  ++outcome_.counts.losses;
  queue_.clear();
  links_ = {};
  shards_.clear();
  processes_.clear();
  ++view_;
  mustering_ = false;
  payloads_.forget();
  squares_.clear();
  doom_.reset();
  disk_.hold_at_most(UINT64_MAX);
  const bool dark = fate_.chance(shape_.recovery.power_cut);
  trace([&] { return dark ? "the whole job is lost, and the power with it" : "the whole job is lost"; });
  if (dark) disk_.power_cut();
  if (fate_.chance(shape_.recovery.rot)) rot_newest();
  resume();
  begin_job();
}

// Not the last good one: nothing could be asked of what comes after.
void World::rot_newest() {
  const auto names = disk_.list(kCheckpointFolder);
  if (!names) return;
  std::vector<wire::Version> good;
  for (const auto& name : *names)
    if (const auto version = checkpoint::version_sealed(name); version && !rotten_.contains(*version))
      good.push_back(*version);
  if (good.size() < 2) return;
  const auto folder = checkpoint::sealed_path(kCheckpointFolder, good.back());
  const auto files = disk_.list(folder).or_throw();
  auto& bytes = *disk_.content(fmt::format("{}/{}", folder, files[fate_.below(files.size())]));
  bytes[fate_.below(bytes.size())] ^= std::byte{static_cast<unsigned char>(1u << fate_.below(8))};
  rotten_.insert(good.back());
  trace([&] { return fmt::format("the checkpoint of version {} is damaged", good.back()); });
}

void World::resume() {
  checkpoint::clean(disk_, kCheckpointFolder).or_throw();
  history::Resumed resumed;
  std::optional<core::Standing> standing;
  std::vector<std::uint64_t> values;
  const auto found = checkpoint::newest(disk_, kCheckpointFolder).or_throw();
  for (const auto& one : found.passed_over) {
    const auto version = checkpoint::version_sealed(one.folder.substr(one.folder.rfind('/') + 1));
    if (version && rotten_.contains(*version))
      ++resumed.passed_over;
    else
      outcome_.violations.push_back("a checkpoint cannot be read: " + one.why);
  }
  if (found.checkpoint) {
    standing = found.checkpoint->manifest().networks.at(0).standing;
    for (const auto& block : shape_.plan.blocks) {
      std::vector<float> floats(4);
      found.checkpoint->read({0, fmt::format("block{}", block.id)}, 0, floats).or_throw();
      values.push_back(from_floats(floats));
      if (values.back() != values_.at(standing->version, block.id))
        outcome_.violations.push_back(
            fmt::format("block {} is not what it was in version {}", block.id, standing->version));
    }
  }
  if (!standing)
    for (const auto& block : shape_.plan.blocks) values.push_back(values_.at(0, block.id));
  values_.load(std::move(values));
  if (shape_.recovery.others) change_numbers(fate_, shape_);
  resumed.terms = terms();
  resumed.standing = standing.value_or(beginning());
  trace([&] {
    return fmt::format("it goes on from version {} with {} replicas and {} shards", resumed.standing.version,
                       shape_.options.replicas, shape_.plan.shards());
  });
  recorder_.add(now_, std::move(resumed));
  make_machines(standing);
}

}  // namespace yoke::sim
