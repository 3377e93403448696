// What a model file holds, for people and for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/model_file.h"
#include "yoke/error.h"

namespace yoke::cli {

// Of the finite elements; none at all: min, mean and max are not there.
struct TensorStats {
  std::uint64_t nan = 0, infinite = 0;
  std::optional<double> min, mean, max;
  double norm = 0;  // root of the sum of squares
};

struct Inspection {
  std::string file;
  checkpoint::ModelHeader header;
  // One a tensor when they were asked for, else empty; none for a tensor that is not floating-point, or is of a type
  // that cannot be computed with.
  std::vector<std::optional<TensorStats>> stats;
};

TensorStats stats_of(const std::vector<double>& values);

// Reads the header alone, or with `stats` one tensor after another. A file that is something else is an error that says
// what it seems to be, where that can be told: a zip (TorchScript), an idx file, gzip, a Git LFS pointer.
Result<Inspection> inspect(const std::string& file, bool stats);

std::string as_text(const Inspection& inspection);
std::string as_json(const Inspection& inspection);

}  // namespace yoke::cli
