// The recorded history as a file: one JSON object a line, in the order of what happened.
#pragma once

#include <string>
#include <vector>

#include "history/event.h"

namespace yoke::report {

std::string to_json_lines(const std::vector<history::Event>& events);

}  // namespace yoke::report
