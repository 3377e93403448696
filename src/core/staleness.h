// What a late gradient is still worth. Judged once a gradient, by the sequencer, and never differently on two shards.
#pragma once

#include <cstdint>
#include <string>

#include "yoke/options.h"

namespace yoke::core {

struct StaleDecision {
  bool apply = true;
  double factor = 1;  // on the gradient, when applied
  std::string reason;
};

StaleDecision judge_staleness(const StaleOptions& options, std::uint64_t staleness);

}  // namespace yoke::core
