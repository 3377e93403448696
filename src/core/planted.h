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
  announce_before_rename,
  forget_returned_ranges_at_resume,
  newcomer_with_an_old_version,
  capture_before_the_mark,
  keep_counting_a_drained_replica,
  skip_an_fsync,
  tell_before_the_twin_has_it,
  form_from_an_older_version,
  take_the_standing_of_another_version,
  acknowledge_before_the_backup_has_it,
  take_a_backup_for_filled_too_early,
  two_primaries_in_one_epoch,
  new_sequencer_forgets_a_record,
  view_change_loses_a_gradient,
  keep_what_was_foreseen,
};

#ifdef YOKE_PLANTED_BUGS
inline Bug planted_bug = Bug::none;
inline bool planted(Bug bug) { return planted_bug == bug; }
#else
constexpr bool planted(Bug) { return false; }
#endif

}  // namespace yoke::core
