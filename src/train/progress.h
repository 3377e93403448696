// Gathers what the replicas report after each step and passes it on now and then.
#pragma once

#include <chrono>
#include <mutex>
#include <vector>

#include "yoke/fit.h"

namespace yoke::train {

class ProgressMeter {
 public:
  // `options` outlive it.
  ProgressMeter(std::uint32_t replicas, const FitOptions& options);

  // From any replica's thread, after its step: what it computed on how many samples, where it stands now, what it was
  // told.
  void add(std::uint32_t replica, const StepResult& result, std::uint64_t samples, const Assignment& next,
           const Outcome& outcome);
  // Reports what has not been reported yet.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  std::string who_is_dropped() const;
  void report(Clock::time_point now);

  const FitOptions& options_;
  std::mutex mutex_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  FitProgress state_;
  std::uint64_t last_samples_ = 0;
  // Since the last report.
  double loss_ = 0;
  std::uint64_t right_ = 0, seen_ = 0, staleness_ = 0, applied_ = 0;
  std::vector<std::uint64_t> dropped_, steps_;  // by replica, over the whole run
};

}  // namespace yoke::train
