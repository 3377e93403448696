// Mirrored: every replica keeps the parameters and takes the same step. In one process it is the protocol of the
// central strategies with a quorum of all and the shards' blocks in the replicas' own memory; a block's pass writes to
// all of them.
#include "strategy/strategy.h"

namespace yoke::strategy {

Result<cluster::LocalOptions> plan_mirrored(const Options& options, cluster::LocalOptions local) {
  if (options.spares > 0)
    return Error{Code::invalid_argument,
                 "mirrored has no spares: every replica's gradient is in every step; use --strategy sync for spares"};
  if (options.optimizer_state == OptimizerState::per_replica)
    return Error{Code::invalid_argument, "an optimizer state per replica is for --strategy async"};
  local.mirrored = true;
  local.in_place = true;
  local.sequencer.everybody = true;
  local.sequencer.shards = options.replicas;  // a slice a replica
  return local;
}

}  // namespace yoke::strategy
