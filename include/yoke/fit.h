// The trainer on top of the loop: brings a Trainable through its epochs, with progress, and measures what came out.
#pragma once

#include <chrono>
#include <functional>

#include "yoke/options.h"
#include "yoke/run.h"
#include "yoke/trainable.h"

namespace yoke {

// Where the run stands, for a person to read.
struct FitProgress {
  double seconds = 0;
  std::uint64_t step = 0;  // updates
  std::uint32_t epoch = 0;
  std::uint64_t samples = 0;  // counted
  double samples_per_second = 0;
  double loss = 0;      // mean over the samples since the last report
  double accuracy = 0;  // likewise
  std::uint64_t dropped = 0, refused = 0;
  double mean_staleness = 0;
  std::string slowest_dropped;  // "replica 0 (93 %)": who is dropped most, when somebody stands out
};

struct FitOptions {
  std::uint32_t batch = 64;  // a replica and step
  std::chrono::milliseconds every{1000};
  std::function<void(const FitProgress&)> progress;  // from any replica's thread, one at a time
};

struct Fitted {
  Summary summary;
  Evaluation test;  // of the final version, on data that was not trained on
};

Result<Fitted> fit(const Options& options, const FitOptions& fit_options, const MakeTrainable& make);

}  // namespace yoke
