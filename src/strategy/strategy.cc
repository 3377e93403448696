#include "strategy/strategy.h"

#include <fmt/format.h>

namespace yoke::strategy {
namespace {

struct Entry {
  Strategy strategy;
  const char* name;
  Result<wire::JobTerms> (*plan)(const Options&, wire::JobTerms);
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

Status check(const Options& options, const Processes& processes) {
  if (processes.join.empty()) {
    if (processes.replica || !processes.listen.empty())
      return wrong(
          "where a process is one replica of many, it must be told where the job's first server listens: join");
    return {};
  }
  if (processes.replica && *processes.replica >= options.replicas)
    return wrong(fmt::format("this process is to be replica {}, but there are only {} (numbered from 0)",
                             *processes.replica, options.replicas));
  if (!processes.listen.empty() && processes.hosts_shard >= processes.hosts_of)
    return wrong(fmt::format("this process is to host shard {}, but there are only {} (numbered from 0)",
                             processes.hosts_shard, processes.hosts_of));
  return {};
}

Status check(const Options& options) {
  constexpr std::uint32_t kMost = 4096;
  if (options.replicas == 0) return wrong("replicas must be at least 1");
  if (options.replicas > kMost || options.shards > kMost)
    return wrong(fmt::format("{} replicas and {} shards: at most {} of each", options.replicas, options.shards, kMost));
  if (options.shards == 0) return wrong("shards must be at least 1");
  if (options.min_replicas == 0 || options.min_replicas > options.replicas)
    return wrong(fmt::format("min-replicas is {}: between 1 and the {} replicas there are", options.min_replicas,
                             options.replicas));
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
  return check(options, options.processes);
}

}  // namespace

const char* name_of(Strategy strategy) { return entry_of(strategy).name; }

Result<wire::JobTerms> plan(const Options& options) {
  if (const auto checked = check(options); !checked) return checked.error();
  wire::JobTerms terms;
  terms.strategy = options.strategy;
  terms.replicas = options.replicas;
  terms.spares = options.spares;
  terms.shards = options.shards;
  terms.epochs = options.epochs;
  terms.steps = options.steps;
  terms.batch_schedule = options.batch_schedule;
  terms.warmup_epochs = options.warmup_epochs;
  terms.warmup_steps = options.warmup_steps;
  terms.schedule = options.schedule;
  terms.stale = options.stale;
  terms.optimizer_state = options.optimizer_state;
  terms.clip_norm = options.clip_norm;
  terms.max_refusals = options.max_refusals;
  terms.min_replicas = options.min_replicas;
  terms.seed = options.seed;
  terms.shuffle = options.shuffle;
  terms.record = options.recorder != nullptr;
  return entry_of(options.strategy).plan(options, std::move(terms));
}

}  // namespace yoke::strategy
