// The planted bugs by name. Only in a build with YOKE_PLANTED_BUGS.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "core/planted.h"

namespace yoke::sim {

inline constexpr std::array<std::pair<std::string_view, core::Bug>, 25> kBugs{{
    {"count_a_replica_twice", core::Bug::count_a_replica_twice},
    {"apply_a_late_gradient", core::Bug::apply_a_late_gradient},
    {"different_sets_on_two_shards", core::Bug::different_sets_on_two_shards},
    {"lose_a_returned_range", core::Bug::lose_a_returned_range},
    {"forget_the_incarnation", core::Bug::forget_the_incarnation},
    {"apply_twice_after_a_retry", core::Bug::apply_twice_after_a_retry},
    {"decide_before_verified", core::Bug::decide_before_verified},
    {"advance_the_schedule_on_a_drop", core::Bug::advance_the_schedule_on_a_drop},
    {"ignore_the_staleness_bound", core::Bug::ignore_the_staleness_bound},
    {"commit_before_every_shard", core::Bug::commit_before_every_shard},
    {"announce_before_rename", core::Bug::announce_before_rename},
    {"forget_returned_ranges_at_resume", core::Bug::forget_returned_ranges_at_resume},
    {"newcomer_with_an_old_version", core::Bug::newcomer_with_an_old_version},
    {"capture_before_the_mark", core::Bug::capture_before_the_mark},
    {"keep_counting_a_drained_replica", core::Bug::keep_counting_a_drained_replica},
    {"skip_an_fsync", core::Bug::skip_an_fsync},
    {"tell_before_the_twin_has_it", core::Bug::tell_before_the_twin_has_it},
    {"form_from_an_older_version", core::Bug::form_from_an_older_version},
    {"take_the_standing_of_another_version", core::Bug::take_the_standing_of_another_version},
    {"acknowledge_before_the_backup_has_it", core::Bug::acknowledge_before_the_backup_has_it},
    {"take_a_backup_for_filled_too_early", core::Bug::take_a_backup_for_filled_too_early},
    {"two_primaries_in_one_epoch", core::Bug::two_primaries_in_one_epoch},
    {"new_sequencer_forgets_a_record", core::Bug::new_sequencer_forgets_a_record},
    {"view_change_loses_a_gradient", core::Bug::view_change_loses_a_gradient},
    {"keep_what_was_foreseen", core::Bug::keep_what_was_foreseen},
}};

}  // namespace yoke::sim
