// When a synchronous step may be decided, and of how many gradients it is made.
#pragma once

#include <cstdint>
#include <string>

namespace yoke::core {

struct QuorumInput {
  std::uint32_t wanted = 1;   // replicas less spares
  std::uint32_t whole = 0;    // distinct replicas whose gradient is complete and checked on every shard
  std::uint32_t working = 0;  // replicas that may still deliver one for this step
  std::uint32_t alive = 0;    // replicas in the job
};

struct QuorumDecision {
  bool ready = false;
  std::uint32_t needed = 0;
  bool degraded = false;  // fewer than wanted because replicas are gone, not because the epoch ends
  std::string reason;
};

QuorumDecision judge_quorum(const QuorumInput& input);

}  // namespace yoke::core
