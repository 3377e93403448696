// Tables of text: a header with the columns' names, then a row a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "yoke/error.h"

namespace yoke::data {

// Fields of a table that is read whole: each takes a string, 2 GiB and more in all.
constexpr std::uint64_t kMaxFields = std::uint64_t{1} << 26;

// A table as it stands in the file: every row has as many fields as the header.
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::uint64_t> lines;  // of each row, for messages
};

// Commas, or whichever of ; and tab the header has instead; quotes as usual ("a, ""b"""). Spaces around a field do not
// count, nor do lines without anything; a byte order mark is passed over. Errors name the line and the field: no
// header or no rows, columns without a name or with the same one, a row that is too long or too short, quotes that do
// not end, more than 100,000 columns or `limit` fields. Pure: what a fuzzer calls.
Result<Table> parse_table(std::string_view text, std::uint64_t limit = kMaxFields);

}  // namespace yoke::data
