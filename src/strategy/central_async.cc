// Central, asynchronous: each gradient is applied when it arrives, as its staleness allows; nobody waits.
#include "strategy/strategy.h"

namespace yoke::strategy {

Result<cluster::LocalOptions> plan_async(const Options& options, cluster::LocalOptions local) {
  if (options.spares > 0)
    return Error{Code::invalid_argument,
                 "async needs no spares: nobody waits for the slow; use --max-staleness to drop what is too old"};
  if (options.deterministic && options.replicas > 1)
    return Error{Code::invalid_argument,
                 "deterministic is refused under async: the order of arrival is chance; use --strategy sync"};
  local.sequencer.async = true;
  local.sequencer.stale = options.stale;
  local.state_per_replica = options.optimizer_state == OptimizerState::per_replica;
  local.delay_compensation = options.stale.delay_compensation;
  return local;
}

}  // namespace yoke::strategy
