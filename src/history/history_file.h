// A history, or one process's part of it, as a file: one JSON object a line, in the order of what happened. "at" is the
// time in nanoseconds, "event" says which kind it is, and the rest are its fields: all of them, exactly. What is absent
// is null; a number that is none is "nan", "inf" or "-inf".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "history/event.h"
#include "yoke/error.h"

namespace yoke::history {

// With the end of the line. Bytes that are not UTF-8 in a reason become U+FFFD; everything else can be read back.
std::string to_json_line(const Event& event);
std::string to_json_lines(std::span<const Event> events);

// With or without the end of the line. Fields that it does not know are passed over; one that is missing or out of its
// range is an error.
Result<Event> from_json_line(std::string_view line);

// The events of a file, in its order. A last line that is cut short is passed over: its process was killed while it
// wrote. A broken line elsewhere is an error that names the file and the line.
Result<std::vector<Event>> read_history(const std::string& file);

}  // namespace yoke::history
