// Any text as a table: what is accepted has as many fields in every row as there are columns.
#include <cstdint>
#include <string_view>

#include "data/table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto table = yoke::data::parse_table({reinterpret_cast<const char*>(bytes), size});
  if (!table) return 0;
  if (table->columns.empty() || table->lines.size() != table->rows.size()) __builtin_trap();
  std::uint64_t line = 1;  // the header's
  for (std::size_t i = 0; i < table->rows.size(); ++i) {
    if (table->rows[i].size() != table->columns.size() || table->lines[i] <= line) __builtin_trap();
    line = table->lines[i];
  }
  return 0;
}
