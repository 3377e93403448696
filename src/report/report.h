// The report of a job, for programs: one JSON object.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "yoke/error.h"
#include "yoke/fit.h"
#include "yoke/options.h"

namespace yoke::report {

struct Environment {
  std::string version;  // of Yoke
  std::string libtorch, blas, kernels;
  std::uint32_t cores = 0;
};

// What a report is made from.
struct Job {
  std::string model, data;
  std::uint64_t parameters = 0;
  Options options;
  std::uint32_t batch = 0;
  Environment environment;
  std::optional<double> baseline_perplexity;  // text: of a model that knows only pairs of characters
  std::vector<Metric> loader;                 // how many batches were ready when they were asked for
};

// docs/report.md describes the fields. Two reports of the same job differ in times alone.
std::string to_json(const Job& job, const Fitted& fitted);
// k-fold: the report of each fold, and what they say together.
std::string to_json(const Job& job, const std::vector<Fitted>& folds);

}  // namespace yoke::report
