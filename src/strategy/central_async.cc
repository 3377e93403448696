// Central, asynchronous: each gradient is applied when it arrives, as its staleness allows; nobody waits.
#include "strategy/strategy.h"

namespace yoke::strategy {

Result<wire::JobTerms> plan_async(const Options& options, wire::JobTerms terms) {
  if (options.spares > 0)
    return Error{Code::invalid_argument,
                 "async needs no spares: nobody waits for the slow; use --max-staleness to drop what is too old"};
  if (options.deterministic && options.replicas > 1)
    return Error{Code::invalid_argument,
                 "deterministic is refused under async: the order of arrival is chance; use --strategy sync"};
  return terms;
}

}  // namespace yoke::strategy
