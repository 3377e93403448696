#include "core/quorum.h"

#include <fmt/format.h>

#include <algorithm>

namespace yoke::core {

QuorumDecision judge_quorum(const QuorumInput& input) {
  QuorumDecision decision;
  decision.needed = std::min(input.wanted, input.whole + input.working);
  decision.ready = decision.needed > 0 && input.whole >= decision.needed;
  decision.degraded = decision.needed < input.wanted && input.alive < input.wanted;
  const char* why = decision.degraded                ? ", degraded: replicas are gone"
                    : decision.needed < input.wanted ? ", the last ranges of the epoch"
                                                     : "";
  decision.reason = fmt::format("{} of {} gradients{}", std::min(input.whole, decision.needed), decision.needed, why);
  return decision;
}

}  // namespace yoke::core
