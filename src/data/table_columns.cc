#include "data/table_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest.h"
#include "data/wrong.h"

namespace yoke::data {

std::string listed(std::span<const std::string> names) {
  constexpr std::size_t kListed = 30;
  if (names.size() <= kListed) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.first(kListed), ", "), names.size() - kListed);
}

Result<std::size_t> find_column(const Table& table, const std::string& name) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), name);
  if (found != table.columns.end()) return static_cast<std::size_t>(found - table.columns.begin());
  const auto near = nearest(name, table.columns);
  return wrong(fmt::format("no column is called '{}'{} (there are {})", name,
                           near.empty() ? "" : fmt::format(": did you mean '{}'?", near), listed(table.columns)));
}

Error at_field(const Table& table, std::size_t row, std::size_t column, Code code, const std::string& why) {
  return {code, fmt::format("line {}, column '{}': {}", table.lines[row], table.columns[column], why)};
}

Result<std::vector<std::string>> target_columns(const Table& table, const OpenOptions& options, const Schema* like) {
  auto targets = options.target;
  const bool named = like != nullptr && (like->task == Task::values || like->task == Task::flags);
  if (targets.empty() && named) targets = like->labels;
  if (targets.empty()) {
    return wrong(fmt::format("say which column to predict: --target NAME (there are {})", listed(table.columns)));
  }
  for (const auto& target : targets) {
    if (auto found = find_column(table, target); !found) return found.error();
    if (std::count(targets.begin(), targets.end(), target) > 1) {
      return wrong(fmt::format("--target names '{}' more than once", target));
    }
  }
  for (const auto* names : {&options.ignore, &options.categories}) {
    for (const auto& name : *names) {
      if (auto found = find_column(table, name); !found) return found.error();
      if (names == &options.categories || std::find(targets.begin(), targets.end(), name) == targets.end()) continue;
      return wrong(fmt::format("column '{}' is to be predicted and ignored: leave out --target or --ignore", name));
    }
  }
  return targets;
}

}  // namespace yoke::data
