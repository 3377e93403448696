// Data sets by sample number: what a replica is handed are numbers, and this turns them into numbers to compute with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::data {

// Labelled samples of one shape, held as bytes and normalised when they are copied out: a quarter of the memory of
// floats. Read-only once made, so any number of threads may copy from it.
struct Dataset {
  std::string name;
  std::vector<std::int64_t> shape;  // of one sample, for instance {1, 28, 28}
  std::uint32_t classes = 0;        // labels are below this
  float scale = 1;                  // a feature is byte * scale + shift: mean 0 and deviation 1 over the training set
  float shift = 0;
  std::vector<std::uint8_t> bytes;   // size() * width()
  std::vector<std::uint8_t> labels;  // size()

  std::uint64_t size() const { return labels.size(); }
  // Features a sample.
  std::uint64_t width() const;

  // Writes the features of these samples, one after another, to `x` (samples.size() * width() floats) and their labels
  // to `y` (samples.size()). A number that is no sample is an error that names it, and nothing is written.
  Status copy(std::span<const std::uint64_t> samples, float* x, std::int64_t* y) const;
};

// What is trained on, and what is held out.
struct Split {
  Dataset train, test;
};

}  // namespace yoke::data
