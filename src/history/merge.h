// One history out of the parts that the processes of a job recorded.
#pragma once

#include <vector>

#include "history/event.h"

namespace yoke::history {

// By time, which all parts have from one clock; the order inside a part is kept, and at equal times the earlier part
// comes first. So what one process does because of another has to be later by its own clock, not only no earlier.
//
// The Terms come first whatever their time. Equal ones are kept once; parts of different jobs have different ones,
// which are all kept, and check() says so.
std::vector<Event> merge(std::vector<std::vector<Event>> parts);

}  // namespace yoke::history
