#include "data/table_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <utility>

#include "data/number.h"
#include "data/table_columns.h"
#include "data/wrong.h"

namespace yoke::data {
namespace {

constexpr std::size_t kMaxWords = 1'000;      // of a feature column: each makes a feature
constexpr std::size_t kMaxClasses = 100'000;  // each makes an output of the network

using Names = std::vector<std::string>;
using Words = std::set<std::string, std::less<>>;

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_numbers(const Table& table, std::size_t column, const OpenOptions& options) {
  return looks_like_number(table.rows.front()[column]) && !contains(options.categories, table.columns[column]);
}

// The different fields of a column; an empty field is an error, and so is a word more than `limit`, with `remedy`.
Result<Words> words_of(const Table& table, std::size_t column, std::size_t limit, const char* remedy) {
  Words words;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const auto& field = table.rows[row][column];
    if (field.empty()) return at_field(table, row, column, Code::corrupt, "the field is empty");
    words.insert(field);
    if (words.size() <= limit) continue;
    return wrong(fmt::format("column '{}' has more than {} different words: {}", table.columns[column], limit, remedy));
  }
  return words;
}

// The classes of a target of numbers.
Result<Names> integers_of(const Table& table, std::size_t column) {
  const auto less = [](const std::string& a, const std::string& b) {
    return std::strtoll(a.c_str(), nullptr, 10) < std::strtoll(b.c_str(), nullptr, 10);
  };
  std::set<std::string, decltype(less)> classes(less);
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    auto integer = parse_integer(table.rows[row][column]);
    if (!integer) {
      return at_field(table, row, column, integer.error().code,
                      integer.error().message + ", as classes are: predict numbers with --task values");
    }
    classes.insert(std::move(*integer));
    if (classes.size() > kMaxClasses) {
      return wrong(fmt::format("column '{}' has more than {} different integers: predict numbers with --task values",
                               table.columns[column], kMaxClasses));
    }
  }
  return Names(classes.begin(), classes.end());
}

Result<Names> classes_of(const Table& table, std::size_t column, bool numbers) {
  if (numbers) return integers_of(table, column);
  const auto words = words_of(table, column, kMaxClasses, "that is too many to be classes, name another --target");
  if (!words) return words.error();
  return Names(words->begin(), words->end());
}

// The features of one column, appended.
Status append_features(const Table& table, std::size_t column, const OpenOptions& options, Names& features) {
  const auto& name = table.columns[column];
  if (name.find('=') != name.npos) {
    return wrong(
        fmt::format("column '{}' has a = in its name, as only categories have: rename it, or leave it out "
                    "with --ignore",
                    name));
  }
  if (is_numbers(table, column, options)) {
    features.push_back(name);
    return {};
  }
  const auto words = words_of(table, column, kMaxWords, "each would be a feature, leave it out with --ignore");
  if (!words) return words.error();
  for (const auto& word : *words) features.push_back(fmt::format("{}={}", name, word));
  return {};
}

Result<Names> features_of(const Table& table, const OpenOptions& options, const Names& targets) {
  Names features;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (contains(targets, table.columns[i]) || contains(options.ignore, table.columns[i])) continue;
    if (auto appended = append_features(table, i, options, features); !appended) return appended.error();
  }
  if (features.empty()) return wrong("no column is left to predict from: the others are targets or ignored");
  return features;
}

// Task, outputs and labels.
Status set_target(const Table& table, const OpenOptions& options, const Names& targets, Schema& schema) {
  const auto first = find_column(table, targets.front());
  if (!first) return first.error();
  const bool numbers = is_numbers(table, *first, options);
  schema.task = options.task.value_or(numbers || targets.size() > 1 ? Task::values : Task::classes);
  schema.outputs = static_cast<std::int64_t>(targets.size());
  schema.labels = targets;
  if (schema.task == Task::values || schema.task == Task::flags) return {};
  if (targets.size() > 1) {
    return wrong(
        fmt::format("--task {} has one target, not {}: {}", name_of(schema.task), targets.size(), listed(targets)));
  }
  auto classes = classes_of(table, *first, numbers);
  if (!classes) return classes.error();
  schema.labels = std::move(*classes);
  if (schema.task == Task::classes) schema.outputs = static_cast<std::int64_t>(schema.labels.size());
  if (schema.task == Task::classes || (numbers ? schema.labels == Names{"0", "1"} : schema.labels.size() == 2)) {
    return {};
  }
  return wrong(fmt::format("--task binary is for a column of 0 and 1 or of two words, but '{}' has {}: try --task {}",
                           targets.front(), listed(schema.labels), numbers ? "values" : "classes"));
}

}  // namespace

Result<Schema> table_schema(const Table& table, const OpenOptions& options, const Names& targets) {
  Schema schema;
  auto features = features_of(table, options, targets);
  if (!features) return features.error();
  schema.features = std::move(*features);
  schema.shape = {static_cast<std::int64_t>(schema.features.size())};
  if (auto set = set_target(table, options, targets, schema); !set) return set.error();
  return schema;
}

}  // namespace yoke::data
