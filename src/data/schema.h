// What the samples of a data set look like, and what is asked about them: all that a network has to know of its data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace yoke::data {

enum class Task {
  classes,  // one of several classes (text: at every position)
  values,   // numbers
  binary,   // yes or no
  flags,    // several times yes or no
};

struct Schema {
  std::vector<std::int64_t> shape;  // of one sample's input: {1, 28, 28}, {10}, {64}
  bool tokens = false;              // inputs are numbers of symbols (`labels` has their names), not features
  Task task = Task::classes;
  std::int64_t outputs = 0;    // how many numbers a network gives: classes, target values, flags; binary: 1
  std::int64_t positions = 1;  // targets a sample: text has one for every character
  std::vector<std::string>
      labels;  // names of the classes (binary: of no and of yes), the target columns, the characters
  std::vector<std::string> features;  // csv: what each feature is, "bmi" or "color=red"; else empty

  // Features (or tokens) a sample.
  std::int64_t width() const;
  bool operator==(const Schema&) const = default;
};

// "classes", "values", "binary", "flags".
const char* name_of(Task task);

// Learnt on the training part alone, and kept with the model: a feature is (raw - mean) / deviation. One number each
// for all features, or one a feature; empty: as they are. Targets likewise (values only).
struct Normalisation {
  std::vector<float> mean, deviation;
  std::vector<float> target_mean, target_deviation;

  // `raw` as number `i` of the features (or the targets), normalised.
  float feature(float raw, std::size_t i) const { return normal(mean, deviation, raw, i); }
  float target(float raw, std::size_t i) const { return normal(target_mean, target_deviation, raw, i); }
  bool operator==(const Normalisation&) const = default;

 private:
  static float normal(const std::vector<float>& mean, const std::vector<float>& deviation, float raw, std::size_t i) {
    if (mean.empty()) return raw;
    if (mean.size() == 1) i = 0;
    return (raw - mean[i]) / deviation[i];
  }
};

}  // namespace yoke::data
