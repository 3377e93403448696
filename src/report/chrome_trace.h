// The timeline of a job in the form that Chrome's and Perfetto's trace viewers read.
#pragma once

#include <string>
#include <vector>

#include "history/timeline.h"

namespace yoke::report {

// One row a replica; times in microseconds since the job began.
std::string chrome_trace(const std::vector<history::Span>& spans, std::uint32_t replicas);

}  // namespace yoke::report
