// Reads what the kernel writes under /proc and /sys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace yoke::train {

// The file's text, of which at most 64 KiB (the first core of many); "" where it cannot be read.
std::string read_proc(const std::string& file);

// The pieces between separators, empty ones too; views into `text`.
std::vector<std::string_view> split_text(std::string_view text, char separator);
// The words between white space.
std::vector<std::string_view> split_words(std::string_view text);

// A number that is the first word of `text`: "1024", "24682416 kB\n". None: "max", "-1", "".
std::optional<std::uint64_t> parse_number(std::string_view text);
// The number in the line that begins with the word `key` (a colon after it is no part of it): /proc/meminfo,
// memory.stat.
std::optional<std::uint64_t> parse_field(std::string_view text, std::string_view key);

}  // namespace yoke::train
