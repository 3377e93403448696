#include "strategy/strategy.h"

#include <fmt/format.h>

#include <limits>
#include <thread>

namespace yoke::strategy {
namespace {

struct Entry {
  Strategy strategy;
  const char* name;
  Result<cluster::LocalOptions> (*plan)(const Options&, cluster::LocalOptions);
};
constexpr Entry kStrategies[] = {
    {Strategy::mirrored, "mirrored", plan_mirrored},
    {Strategy::sync, "sync", plan_sync},
    {Strategy::async, "async", plan_async},
};

const Entry& entry_of(Strategy strategy) {
  for (const auto& entry : kStrategies)
    if (entry.strategy == strategy) return entry;
  return kStrategies[0];
}

Error wrong(std::string message) { return {Code::invalid_argument, std::move(message)}; }

Status check(const Options& options) {
  constexpr std::uint32_t kMost = 4096;
  if (options.replicas == 0) return wrong("replicas must be at least 1");
  if (options.replicas > kMost || options.shards > kMost)
    return wrong(fmt::format("{} replicas and {} shards: at most {} of each", options.replicas, options.shards, kMost));
  if (options.shards == 0) return wrong("shards must be at least 1");
  if (options.steps == 0 && options.epochs == 0) return wrong("nothing to do: give epochs or steps of at least 1");
  for (const auto& [replica, factor] : options.slow) {
    if (replica >= options.replicas)
      return wrong(
          fmt::format("slow names replica {}, but there are only {} (numbered from 0)", replica, options.replicas));
    if (!(factor >= 1)) return wrong(fmt::format("slow {}:{}: the factor must be 1 or more", replica, factor));
  }
  if (!(options.straggle_probability >= 0 && options.straggle_probability <= 1))
    return wrong(fmt::format("straggle {}:{}: a probability is between 0 and 1", options.straggle_probability,
                             options.straggle_factor));
  if (!(options.straggle_factor >= 1))
    return wrong(fmt::format("straggle {}:{}: the factor must be 1 or more", options.straggle_probability,
                             options.straggle_factor));
  for (const auto& change : options.batch_schedule)
    if (change.batch == 0) return wrong("batch-schedule: a batch must have at least 1 sample");
  const StaleOptions usual;
  const auto& stale = options.stale;
  if (options.strategy != Strategy::async &&
      (stale.policy != usual.policy || stale.max_staleness || stale.max_lead || stale.delay_compensation != 0))
    return wrong(
        fmt::format("stale gradients exist under async alone: under {} every gradient that counts is fresh; "
                    "leave out stale, max-staleness, max-lead and delay-compensation, or use --strategy async",
                    name_of(options.strategy)));
  if (options.clip_norm < 0) return wrong("clip-norm must not be negative");
  return {};
}

// While no more replicas run than there are cores, a waiting thread may look for a moment before it sleeps: waking a
// halted virtual core costs tens of microseconds.
Duration spin_for(const Options& options) {
  return options.replicas <= std::thread::hardware_concurrency() ? std::chrono::microseconds(100) : Duration::zero();
}

}  // namespace

const char* name_of(Strategy strategy) { return entry_of(strategy).name; }

Result<cluster::LocalOptions> plan(const Options& options) {
  if (const auto checked = check(options); !checked) return checked.error();
  cluster::LocalOptions local;
  auto& sequencer = local.sequencer;
  sequencer.replicas = options.replicas;
  sequencer.shards = options.shards;
  sequencer.epochs = options.steps > 0 ? std::numeric_limits<std::uint32_t>::max() : options.epochs;
  sequencer.steps = options.steps;
  sequencer.batch_schedule = options.batch_schedule;
  sequencer.warmup_epochs = options.warmup_epochs;
  sequencer.warmup_steps = options.warmup_steps;
  sequencer.schedule = options.schedule;
  sequencer.clip_norm = options.clip_norm;
  sequencer.max_refusals = options.max_refusals;
  local.deadline = options.deadline;
  local.spin = spin_for(options);
  local.recorder = options.recorder;
  return entry_of(options.strategy).plan(options, std::move(local));
}

}  // namespace yoke::strategy
