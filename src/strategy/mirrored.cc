// Mirrored: every replica keeps the parameters and takes the same step. It is the protocol of the central strategies
// with a quorum of all and a shard a replica. In one process the shards' blocks are in the replicas' own memory, and a
// block's pass writes to all of them; between processes each replica hosts its shard, and pushing, updating and pulling
// are reduce-scatter, update of one's slice and all-gather.
#include "strategy/strategy.h"

namespace yoke::strategy {

Result<wire::JobTerms> plan_mirrored(const Options& options, wire::JobTerms terms) {
  if (options.spares > 0)
    return Error{Code::invalid_argument,
                 "mirrored has no spares: every replica's gradient is in every step; use --strategy sync for spares"};
  if (options.optimizer_state == OptimizerState::per_replica)
    return Error{Code::invalid_argument, "an optimizer state per replica is for --strategy async"};
  terms.shards = options.replicas;  // a slice a replica
  return terms;
}

}  // namespace yoke::strategy
