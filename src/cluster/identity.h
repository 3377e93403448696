// Who this process is, as it says to others.
#pragma once

#include "wire/job.h"

namespace yoke::cluster {

// The view of a coordinated job as processes name it to each other: in steps, so that histories that are put together
// have tickets of their own for each.
constexpr std::uint64_t view_named(std::uint64_t number) { return number * 4096; }

// Host, process and program filled in; the incarnation is a later one than that of any process before.
wire::Identity this_process(wire::Role role, std::uint32_t id);

// "replica 3 (node7, process 4711)".
std::string in_words(const wire::Identity& identity);
// "node7, process 4711".
std::string where_is(const wire::Identity& identity);

}  // namespace yoke::cluster
