// Bugs planted on purpose, to see that the simulator and the checker bite. They exist only in the copy of this layer
// that the simulator's own test builds with YOKE_PLANTED_BUGS; everywhere else `planted` is the constant false.
#pragma once

namespace yoke::core {

enum class Bug {
  none,
  count_a_replica_twice,
  apply_a_late_gradient,
  different_sets_on_two_shards,
  lose_a_returned_range,
  forget_the_incarnation,
  apply_twice_after_a_retry,
  decide_before_verified,
  advance_the_schedule_on_a_drop,
  ignore_the_staleness_bound,
  commit_before_every_shard,
};

#ifdef YOKE_PLANTED_BUGS
inline Bug planted_bug = Bug::none;
inline bool planted(Bug bug) { return planted_bug == bug; }
#else
constexpr bool planted(Bug) { return false; }
#endif

}  // namespace yoke::core
