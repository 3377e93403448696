// Who this process is, as it says to others.
#pragma once

#include "wire/job.h"

namespace yoke::cluster {

// Host, process and program filled in; the incarnation is a later one than that of any process before.
wire::Identity this_process(wire::Role role, std::uint32_t id);

// "replica 3 (node7, process 4711)".
std::string in_words(const wire::Identity& identity);
// "node7, process 4711".
std::string where_is(const wire::Identity& identity);

}  // namespace yoke::cluster
