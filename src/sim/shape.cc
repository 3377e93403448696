#include "sim/shape.h"

#include <fmt/format.h>

#include <algorithm>

namespace yoke::sim {
namespace {

using std::chrono::milliseconds;

// Such that the seeds that found something before there was recovery are still the same worlds.
constexpr std::uint64_t kRecoveryStream = 38;
constexpr std::uint64_t kTwinStream = 43;
constexpr std::uint64_t kServerStream = 57;
constexpr std::uint64_t kForecastStream = 6;

core::BlockPlan plan_of(Random& random, std::uint32_t shards) {
  Layout layout;
  layout.groups = {SGD{}, Average{}};
  const auto slots = shards + random.below(4);
  for (std::uint64_t i = 0; i < slots; ++i) {
    const auto floats = static_cast<std::int64_t>(random.between(1, 20'000));
    const bool buffer = random.chance(0.1);
    layout.slots.push_back({"slot", {floats}, buffer ? 1u : 0u, false, buffer});
  }
  return core::plan_blocks(layout, shards);
}

ScheduleOptions schedule_of(Random& random) {
  ScheduleOptions schedule;
  schedule.kind = static_cast<ScheduleOptions::Kind>(random.below(3));
  schedule.step_gamma = 0.5;
  schedule.floor = random.chance(0.5) ? 0.1 : 0;
  schedule.warmup_epochs = random.chance(0.3) ? 0.7 : 0;
  schedule.reference_batch = random.chance(0.3) ? 16 : 0;
  return schedule;
}

void make_job(Random& random, Shape& shape) {
  auto& options = shape.options;
  options.replicas = static_cast<std::uint32_t>(random.between(1, 8));
  options.async = random.chance(0.5);
  if (!options.async && random.chance(0.6)) options.spares = static_cast<std::uint32_t>(random.below(options.replicas));
  shape.plan = plan_of(random, static_cast<std::uint32_t>(random.between(1, 4)));
  options.shards = shape.plan.shards();

  shape.batch = static_cast<std::uint32_t>(random.between(1, 6));
  shape.samples = random.chance(0.15) ? 0 : random.between(1, 60);
  options.epochs = static_cast<std::uint32_t>(random.between(1, 3));
  if (shape.samples == 0 || random.chance(0.3)) options.steps = random.between(1, 25);
  if (random.chance(0.3)) options.batch_schedule = {{2, 7}, {1, 3}};
  if (random.chance(0.2)) options.warmup_epochs = static_cast<std::uint32_t>(random.between(1, 2));
  if (random.chance(0.2)) options.warmup_steps = random.between(1, 5);
  options.schedule = schedule_of(random);
  options.stale.policy = static_cast<Stale>(random.below(4));
  options.stale.strength = random.chance(0.5) ? 0.1 : 0.4;
  if (random.chance(0.5)) options.stale.max_staleness = random.below(6);
  if (random.chance(0.5)) options.stale.max_lead = random.below(4);
  if (random.chance(0.3)) options.clip_norm = 1;
  options.max_refusals = static_cast<std::uint32_t>(random.between(1, 4));
}

Faults faults_of(Random& random) {
  Faults faults;
  const auto mood = random.below(4);  // 0: calm
  if (mood == 0) return faults;
  const double scale = mood == 1 ? 0.3 : 1;
  const auto sometimes = [&](double most) { return random.chance(0.6) ? random.real() * most * scale : 0; };
  faults.cease = random.between(milliseconds(50), milliseconds(1500));
  faults.duplicate = sometimes(0.3);
  faults.straggle = sometimes(0.15);
  faults.zombie = sometimes(1.0);
  faults.damage = sometimes(0.04);
  faults.flip = sometimes(0.03);
  faults.die_midway = sometimes(0.02);
  faults.false_alarm = sometimes(0.5);
  faults.stay_dead = sometimes(0.4);
  if (random.chance(0.7)) faults.reset_every = random.between(milliseconds(4), milliseconds(150));
  if (random.chance(0.6)) faults.crash_every = random.between(milliseconds(5), milliseconds(300));
  faults.back_within = random.chance(0.5) ? milliseconds(2) : milliseconds(80);
  return faults;
}

// From a stream of its own: a world without any of it is the one it was before there was such a thing.
void make_recovery(Random& random, Shape& shape) {
  if (random.chance(0.5)) return;
  auto& recovery = shape.recovery;
  const auto sometimes = [&](double often, double most) { return random.chance(often) ? random.real() * most : 0; };
  if (random.chance(0.3))
    shape.options.min_replicas = static_cast<std::uint32_t>(random.between(1, shape.options.replicas));
  if (random.chance(0.85)) recovery.checkpoint_every = random.between(milliseconds(2), milliseconds(80));
  recovery.keep = static_cast<std::uint32_t>(random.between(2, 4));
  if (random.chance(0.3)) recovery.slow_disk = static_cast<double>(random.between(2, 40));
  recovery.disk_fails = sometimes(0.3, 0.05);
  recovery.disk_full = sometimes(0.3, 0.3);
  if (random.chance(0.7)) recovery.losses = static_cast<std::uint32_t>(random.between(1, 3));
  recovery.power_cut = random.chance(0.8) ? 0.7 : 0;
  recovery.rot = sometimes(0.3, 1);
  recovery.others = random.chance(0.5);
  if (random.chance(0.3)) recovery.drain_every = random.between(milliseconds(5), milliseconds(200));
  if (random.chance(0.3)) recovery.stop_every = random.between(milliseconds(5), milliseconds(200));
}

void make_twins(Random& random, Shape& shape) {
  if (!shape.options.everybody || shape.options.replicas < 2 || shape.plan.blocks.size() < 2 || random.chance(0.2))
    return;
  shape.twins = true;
  spread(shape, shape.options.replicas);
  auto& recovery = shape.recovery;
  recovery.departures = static_cast<std::uint32_t>(random.between(2, 8));
  recovery.in_a_row = random.chance(0.7) ? 0.5 : 0;
  recovery.stay_away = random.chance(0.5) ? 0.3 : 0;
}

void make_servers(Random& random, Shape& shape) {
  if (shape.options.everybody || shape.recovery.losses > 1 || random.chance(0.4)) return;
  auto& servers = shape.servers;
  servers.coordinated = shape.options.outlived = true;
  shape.recovery.losses = 0;
  shape.recovery.others = false;
  servers.backups = random.chance(0.85) ? 1 : 0;
  auto& every = shape.recovery.checkpoint_every;  // without one nothing could be lost
  if (servers.backups == 0 && every.count() == 0) every = milliseconds(10);
  servers.idle = static_cast<std::uint32_t>(random.below(3));
  servers.losses = static_cast<std::uint32_t>(random.between(2, 14));
  servers.cut = random.chance(0.6) ? random.real() : 0;
  servers.in_a_row = random.chance(0.5) ? 0.4 : 0;
  servers.coordinators = random.chance(0.6) ? static_cast<std::uint32_t>(random.between(1, 6)) : 0;
}

}  // namespace

void spread(Shape& shape, std::uint64_t shards) {
  auto& plan = shape.plan;
  shape.options.shards = static_cast<std::uint32_t>(std::min<std::uint64_t>(shards, plan.blocks.size()));
  plan.of_shard.assign(shape.options.shards, {});
  for (auto& block : plan.blocks) {
    block.shard = block.id % shape.options.shards;
    plan.of_shard[block.shard].push_back(block.id);
  }
}

void change_numbers(Random& random, Shape& shape) {
  auto& options = shape.options;
  options.replicas = static_cast<std::uint32_t>(random.between(1, 8));
  options.spares = std::min(options.spares, options.replicas - 1);
  options.min_replicas = std::min(options.min_replicas, options.replicas);
  shape.slowness.resize(options.replicas, 1);
  const auto shards = random.between(1, std::min<std::uint64_t>(4, shape.plan.blocks.size()));
  spread(shape, shape.twins ? options.replicas : shards);
}

Shape shape_of(std::uint64_t seed) {
  Random random(mix(seed, 1));
  Shape shape;
  make_job(random, shape);
  shape.faults = faults_of(random);
  shape.in_order = random.chance(0.3);
  shape.reads_newest = random.chance(0.3);
  shape.absent = random.chance(0.4) ? 0.2 : 0;
  for (std::uint32_t i = 0; i < shape.options.replicas; ++i)
    shape.slowness.push_back(random.chance(0.2) ? 2 + 8 * random.real() : 1);
  shape.options.everybody =
      !shape.options.async && shape.options.spares == 0 && shape.samples > 0 && random.chance(0.3);
  shape.slow_links = random.chance(0.3) ? 0.5 * random.real() : 0;
  if (random.chance(0.1)) shape.stop_at = random.between(milliseconds(1), milliseconds(200));
  Random of_recovery(mix(seed, kRecoveryStream));
  make_recovery(of_recovery, shape);
  Random of_twins(mix(seed, kTwinStream));
  make_twins(of_twins, shape);
  Random of_servers(mix(seed, kServerStream));
  make_servers(of_servers, shape);
  const bool foreseeable = !shape.options.async && shape.options.spares == 0 && shape.options.clip_norm == 0;
  shape.options.forecasts = foreseeable && Random(mix(seed, kForecastStream)).chance(0.8);
  return shape;
}

std::string Recovery::describe(const core::SequencerOptions& options) const {
  std::string text;
  if (options.min_replicas > 1) text += fmt::format("; at least {} replicas", options.min_replicas);
  if (checkpoint_every.count())
    text += fmt::format("; checkpoints every {} ms, {} kept, disk {} times slower, fails {:.3f}, full {:.2f}",
                        checkpoint_every / milliseconds(1), keep, slow_disk, disk_fails, disk_full);
  if (losses) text += fmt::format("; lost {} times, power cut {:.1f}, rot {:.2f}", losses, power_cut, rot);
  if (losses && others) text += ", goes on with other numbers";
  if (departures)
    text += fmt::format("; twins, {} departures, {:.1f} in a row, {:.1f} for good", departures, in_a_row, stay_away);
  if (drain_every.count()) text += fmt::format("; drains every {} ms", drain_every / milliseconds(1));
  if (stop_every.count()) text += fmt::format("; stops every {} ms", stop_every / milliseconds(1));
  return text;
}

std::string Servers::describe() const {
  if (!coordinated) return {};
  return fmt::format(
      "; coordinated, {} backups, {} idle, {} servers lost, {:.1f} of them cut off, {:.1f} in a row, {} "
      "coordinators lost",
      backups, idle, losses, cut, in_a_row, coordinators);
}

std::string Shape::describe() const {
  const auto& o = options;
  return fmt::format(
      "{} replicas, {} spares, {} shards, {} blocks, {}; {} samples by {}, {} epochs, {} steps; warm-up {} epochs, {} "
      "steps; clip {}; staleness at most {}, lead at most {}; until {} ms: resets every {} ms, crashes every {} ms, "
      "duplicates {:.2f}, stragglers {:.2f}, zombies {:.2f}, damage {:.2f}, flips {:.2f}, deaths midway {:.2f}; slow "
      "links {:.2f}; {}{}{}{}{}",
      o.replicas, o.spares, o.shards, plan.blocks.size(),
      o.async       ? "asynchronous"
      : o.everybody ? "synchronous, everybody"
                    : "synchronous",
      samples, batch, o.epochs, o.steps, o.warmup_epochs, o.warmup_steps, o.clip_norm,
      o.stale.max_staleness ? std::to_string(*o.stale.max_staleness) : "any",
      o.stale.max_lead ? std::to_string(*o.stale.max_lead) : "any", faults.cease / milliseconds(1),
      faults.reset_every / milliseconds(1), faults.crash_every / milliseconds(1), faults.duplicate, faults.straggle,
      faults.zombie, faults.damage, faults.flip, faults.die_midway, slow_links, in_order ? "in order" : "out of order",
      reads_newest ? ", reads the newest" : "",
      stop_at.count() ? fmt::format(", stopped after {} ms", stop_at / milliseconds(1)) : "", recovery.describe(o),
      servers.describe());
}

}  // namespace yoke::sim
