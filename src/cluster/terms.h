// What the terms of a job mean for the machines that run it: the same in one process and on servers.
#pragma once

#include "checkpoint/manifest.h"
#include "cluster/block_updates.h"
#include "core/sequencer.h"
#include "history/event.h"
#include "wire/job.h"

namespace yoke::cluster {

// `shards`: of the plan, which may have fewer than the terms wish for when the network is small.
core::SequencerOptions sequencer_options(const wire::JobTerms& terms, std::uint32_t shards);

// What a history begins with. `samples` and `batch` are those of the replica that joined first.
history::Terms history_terms(const wire::JobTerms& terms, const core::BlockPlan& plan, std::uint64_t samples,
                             std::uint32_t batch);

// Only the first network counts samples, ends the job and is recorded; further ones follow its steps.
wire::JobTerms terms_of_network(wire::JobTerms terms, std::size_t network);

// The replicas' own values are the only ones.
inline bool mirrored(const wire::JobTerms& terms) { return terms.strategy == Strategy::mirrored; }
// Every replica waits while a step is made, so that it can be written where it is wanted.
inline bool in_place(const wire::JobTerms& terms) {
  return mirrored(terms) || (terms.strategy == Strategy::sync && terms.spares == 0);
}
// What a checkpoint says of the job.
checkpoint::JobFacts job_facts(const wire::JobTerms& terms, const core::Standing& standing);
// How the blocks are updated where that is not so.
UpdateOptions update_options(const wire::JobTerms& terms);

}  // namespace yoke::cluster
