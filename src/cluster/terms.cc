#include "cluster/terms.h"

#include <limits>

namespace yoke::cluster {

core::SequencerOptions sequencer_options(const wire::JobTerms& terms, std::uint32_t shards) {
  core::SequencerOptions options;
  options.replicas = terms.replicas;
  options.spares = terms.spares;
  options.shards = shards;
  options.async = terms.strategy == Strategy::async;
  options.everybody = mirrored(terms);
  options.epochs = terms.steps > 0 ? std::numeric_limits<std::uint32_t>::max() : terms.epochs;
  options.steps = terms.steps;
  options.batch_schedule = terms.batch_schedule;
  options.warmup_epochs = terms.warmup_epochs;
  options.warmup_steps = terms.warmup_steps;
  options.schedule = terms.schedule;
  if (options.async) options.stale = terms.stale;
  options.clip_norm = terms.clip_norm;
  options.max_refusals = terms.max_refusals;
  options.min_replicas = terms.min_replicas;
  return options;
}

history::Terms history_terms(const wire::JobTerms& terms, const core::BlockPlan& plan, std::uint64_t samples,
                             std::uint32_t batch) {
  history::Terms told{sequencer_options(terms, plan.shards()), {}, samples, batch};
  for (const auto& blocks : plan.of_shard) told.shard_blocks.push_back(static_cast<std::uint32_t>(blocks.size()));
  return told;
}

wire::JobTerms terms_of_network(wire::JobTerms terms, std::size_t network) {
  if (network > 0) {
    terms.steps = 0;
    terms.record = false;
  }
  return terms;
}

checkpoint::JobFacts job_facts(const wire::JobTerms& terms, const core::Standing& standing) {
  checkpoint::JobFacts facts;
  facts.strategy = terms.strategy;
  facts.replicas = terms.replicas;
  facts.spares = terms.spares;
  facts.servers = terms.shards;
  facts.seed = terms.seed;
  facts.shuffle = terms.shuffle;
  facts.epochs = terms.epochs;
  facts.steps = terms.steps;
  facts.samples = standing.samples;
  facts.batch = standing.batch;
  return facts;
}

UpdateOptions update_options(const wire::JobTerms& terms) {
  return {.state_per_replica = terms.optimizer_state == OptimizerState::per_replica,
          .delay_compensation = terms.stale.delay_compensation};
}

}  // namespace yoke::cluster
