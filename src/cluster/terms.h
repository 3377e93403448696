// What the terms of a job mean for the machines that run it: the same in one process and on servers.
#pragma once

#include "cluster/versioned_store.h"
#include "core/sequencer.h"
#include "wire/job.h"

namespace yoke::cluster {

// `shards` is what is wished for; the plan of a small network may have fewer.
core::SequencerOptions sequencer_options(const wire::JobTerms& terms);

// Only the first network counts samples, ends the job and is recorded; further ones follow its steps.
wire::JobTerms terms_of_network(wire::JobTerms terms, std::size_t network);

// The replicas' own values are the only ones.
inline bool mirrored(const wire::JobTerms& terms) { return terms.strategy == Strategy::mirrored; }
// Every replica waits while a step is made, so that it can be written where it is wanted.
inline bool in_place(const wire::JobTerms& terms) {
  return mirrored(terms) || (terms.strategy == Strategy::sync && terms.spares == 0);
}
// How the blocks are kept where that is not so.
VersionedOptions versioned_options(const wire::JobTerms& terms);

}  // namespace yoke::cluster
