// Central, synchronous: servers wait for the gradients of the fastest replicas, update once, and send the new
// parameters.
#include <fmt/format.h>

#include "strategy/strategy.h"

namespace yoke::strategy {

Result<wire::JobTerms> plan_sync(const Options& options, wire::JobTerms terms) {
  if (options.spares >= options.replicas)
    return Error{Code::invalid_argument, fmt::format("{} spares of {} replicas leave nobody to count; use at most {}",
                                                     options.spares, options.replicas, options.replicas - 1)};
  if (options.deterministic && options.spares > 0)
    return Error{Code::invalid_argument,
                 "deterministic needs --spares 0: with spares the fastest count, and who is fastest is chance"};
  if (options.optimizer_state == OptimizerState::per_replica)
    return Error{Code::invalid_argument, "an optimizer state per replica is for --strategy async"};
  return terms;
}

}  // namespace yoke::strategy
