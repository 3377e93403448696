// Gathers what the replicas report after each step, passes it on now and then, and keeps the curve.
#pragma once

#include <chrono>
#include <mutex>
#include <vector>

#include "train/stragglers.h"
#include "wire/job.h"
#include "yoke/fit.h"

namespace yoke::train {

class ProgressMeter {
 public:
  // Both outlive it.
  ProgressMeter(const Options& options, const FitOptions& fit);

  // How much data there is, once that is known; 0: it has no size.
  void expect(std::uint64_t epoch_samples);
  // So many samples had counted before, and this is what was seen then.
  void go_on_from(std::uint64_t samples, std::vector<CurvePoint> curve);
  // From any thread: what a replica did in a step, in this process or another.
  void add(const wire::StepNews& news);
  // An evaluation on held-out data, of this version.
  CurvePoint add(const Evaluation& validation, std::uint64_t version);
  // Reports what has not been reported yet.
  void finish();

  // The evaluations or, where nothing is held out, what was reported of the training.
  const std::vector<CurvePoint>& curve() const { return evaluated_.empty() ? reported_ : evaluated_; }
  // Training loss over the last stretch of samples.
  double last_loss() const { return state_.loss; }

 private:
  using Clock = std::chrono::steady_clock;
  // A mean over samples since somebody last looked.
  struct Stretch {
    double loss = 0, right = 0;
    std::uint64_t seen = 0;
    double mean_loss() const { return seen ? loss / static_cast<double>(seen) : 0; }
  };
  double part_done() const;
  void report(Clock::time_point now);

  const Options& options_;
  const FitOptions& fit_;
  std::mutex mutex_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  std::uint64_t epoch_samples_ = 0;
  Stragglers stragglers_;
  FitProgress state_;
  std::uint64_t last_samples_ = 0;
  double done_before_ = 0;     // how much of the job was done before this process began
  double seconds_before_ = 0;  // and how long that had taken, as far as is known
  Stretch since_report_, since_point_;
  std::uint64_t staleness_ = 0, applied_ = 0;
  std::vector<CurvePoint> evaluated_, reported_;
};

}  // namespace yoke::train
