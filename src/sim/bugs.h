// The planted bugs by name. Only in a build with YOKE_PLANTED_BUGS.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "core/planted.h"

namespace yoke::sim {

inline constexpr std::array<std::pair<std::string_view, core::Bug>, 10> kBugs{{
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
}};

}  // namespace yoke::sim
