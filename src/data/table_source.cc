#include "data/table_source.h"

#include <cmath>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "data/field_reader.h"
#include "data/table_columns.h"

namespace yoke::data {
namespace {

// The deviation of what never changes is 1; so is one that is lost when it becomes a float.
float usable(double deviation) {
  const auto rounded = static_cast<float>(deviation);
  return rounded > 0 ? rounded : 1;
}

// Mean and deviation of `value(sample)` over the samples, appended.
template <class Value>
void learn_numbers(std::span<const std::uint64_t> samples, const Value& value, std::vector<float>& means,
                   std::vector<float>& deviations) {
  const auto n = static_cast<double>(samples.size());
  const double first = value(samples[0]);
  bool constant = true;  // asked for, because the squares of what rounding leaves are not 0
  double sum = 0, squares = 0;
  for (auto sample : samples) {
    sum += value(sample);
    constant = constant && value(sample) == first;
  }
  const double mean = sum / n;
  for (auto sample : samples) squares += (value(sample) - mean) * (value(sample) - mean);
  means.push_back(static_cast<float>(mean));
  deviations.push_back(constant ? 1 : usable(std::sqrt(squares / n)));
}

// The same of the features that a column of words becomes; `word(sample)` is its number.
template <class Word>
void learn_words(std::span<const std::uint64_t> samples, std::size_t words, const Word& word, std::vector<float>& means,
                 std::vector<float>& deviations) {
  std::vector<std::uint64_t> counts(words);
  for (auto sample : samples) ++counts[word(sample)];
  for (auto count : counts) {
    const double mean = static_cast<double>(count) / static_cast<double>(samples.size());
    means.push_back(static_cast<float>(mean));
    deviations.push_back(usable(std::sqrt(mean * (1 - mean))));
  }
}

struct Reading {
  std::string column;
  FieldReader reader;
};

FieldReader target_reader(const Schema& schema) {
  if (schema.task == Task::values) return FieldReader::of_numbers();
  if (schema.task == Task::flags) return FieldReader::of_flags();
  return FieldReader::of_words(schema.labels, "class");
}

// Appends these columns of every row.
Status read_columns(const Table& table, const std::vector<Reading>& readings, std::vector<float>& to) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < table.columns.size(); ++i) places.emplace(table.columns[i], i);
  std::vector<std::size_t> columns;
  for (const auto& reading : readings) {
    const auto found = places.find(reading.column);
    if (found == places.end()) return find_column(table, reading.column).error();
    columns.push_back(found->second);
  }
  to.reserve(to.size() + table.rows.size() * readings.size());
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    for (std::size_t i = 0; i < readings.size(); ++i) {
      const auto value = readings[i].reader.read(table.rows[row][columns[i]]);
      if (!value) return at_field(table, row, columns[i], value.error().code, value.error().message);
      to.push_back(*value);
    }
  }
  return {};
}

}  // namespace

TableSource::TableSource(Schema schema) : schema_(std::move(schema)) {
  for (const auto& feature : schema_.features) {
    const auto equals = feature.find('=');
    auto name = feature.substr(0, equals);
    const bool further = equals != feature.npos && !columns_.empty() && !columns_.back().words.empty();
    if (!further || columns_.back().name != name) columns_.push_back({std::move(name), {}});
    if (equals != feature.npos) columns_.back().words.push_back(feature.substr(equals + 1));
  }
}

std::size_t TableSource::targets() const {
  return schema_.task == Task::classes ? 1 : static_cast<std::size_t>(schema_.outputs);
}

Status TableSource::append(const Table& table, const std::vector<std::string>& targets) {
  std::vector<Reading> features, wanted;
  for (const auto& [name, words] : columns_) {
    features.push_back({name, words.empty() ? FieldReader::of_numbers() : FieldReader::of_words(words, "word")});
  }
  for (const auto& name : targets) wanted.push_back({name, target_reader(schema_)});
  if (auto read = read_columns(table, features, cells_); !read) return read;
  if (auto read = read_columns(table, wanted, targets_); !read) return read;
  size_ += table.rows.size();
  return {};
}

Result<Normalisation> TableSource::learn(std::span<const std::uint64_t> samples) const {
  if (samples.empty()) return Error{Code::invalid_argument, "no samples to learn mean and deviation from"};
  Normalisation learnt;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const auto cell = [&](std::uint64_t sample) { return cells_[sample * columns_.size() + i]; };
    const auto word = [&](std::uint64_t sample) { return static_cast<std::size_t>(cell(sample)); };
    const auto words = columns_[i].words.size();
    if (words == 0) learn_numbers(samples, cell, learnt.mean, learnt.deviation);
    if (words != 0) learn_words(samples, words, word, learnt.mean, learnt.deviation);
  }
  for (std::size_t i = 0; schema_.task == Task::values && i < targets(); ++i) {
    const auto value = [&](std::uint64_t sample) { return targets_[sample * targets() + i]; };
    learn_numbers(samples, value, learnt.target_mean, learnt.target_deviation);
  }
  return learnt;
}

Status TableSource::fill(std::span<const std::uint64_t> samples, const Normalisation& normalisation,
                         Batch& batch) const {
  batch = {};
  batch.size = samples.size();
  batch.features.reserve(samples.size() * schema_.features.size());
  for (auto sample : samples) {
    const float* cell = &cells_[sample * columns_.size()];
    std::size_t feature = 0;
    const auto add = [&](float raw) { batch.features.push_back(normalisation.feature(raw, feature++)); };
    for (const auto& column : columns_) {
      const auto words = column.words.size();
      if (words == 0) add(*cell);
      for (std::size_t word = 0; word < words; ++word) add(static_cast<float>(word) == *cell ? 1 : 0);
      ++cell;
    }
    for (std::size_t i = 0; i < targets(); ++i) {
      const float target = targets_[sample * targets() + i];
      if (schema_.task == Task::classes) {
        batch.classes.push_back(static_cast<std::int64_t>(target));
      } else {
        batch.values.push_back(normalisation.target(target, i));
      }
    }
  }
  return {};
}

}  // namespace yoke::data
