#include "train/progress.h"

#include <fmt/format.h>

#include <algorithm>

namespace yoke::train {

ProgressMeter::ProgressMeter(std::uint32_t replicas, const FitOptions& options)
    : options_(options), dropped_(replicas), steps_(replicas) {}

void ProgressMeter::add(std::uint32_t replica, const StepResult& result, std::uint64_t samples, const Assignment& next,
                        const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  ++steps_[replica];
  if (outcome.fate == Outcome::Fate::applied) {
    loss_ += result.loss * static_cast<double>(samples);
    right_ += result.right;
    seen_ += samples;
    staleness_ += outcome.staleness;
    ++applied_;
    state_.samples += samples;
  } else {
    ++(outcome.fate == Outcome::Fate::dropped ? state_.dropped : state_.refused);
    ++dropped_[replica];
  }
  state_.step = std::max(state_.step, outcome.version);
  state_.epoch = std::max(state_.epoch, next.epoch);
  const auto now = Clock::now();
  if (now - last_ >= options_.every) report(now);
}

void ProgressMeter::finish() {
  const std::lock_guard lock(mutex_);
  report(Clock::now());
}

// A replica stands out when it loses more than half of its steps, and the others do not.
std::string ProgressMeter::who_is_dropped() const {
  std::string names;
  for (std::size_t i = 0; i < dropped_.size(); ++i)
    if (steps_[i] >= 4 && dropped_[i] * 2 > steps_[i])
      names +=
          fmt::format("{}replica {} ({} % of its steps)", names.empty() ? "" : ", ", i, 100 * dropped_[i] / steps_[i]);
  return names;
}

void ProgressMeter::report(Clock::time_point now) {
  if (!options_.progress || seen_ == 0) return;
  state_.seconds = std::chrono::duration<double>(now - start_).count();
  const double since = std::chrono::duration<double>(now - last_).count();
  state_.samples_per_second = since > 0 ? static_cast<double>(state_.samples - last_samples_) / since : 0;
  state_.loss = loss_ / static_cast<double>(seen_);
  state_.accuracy = static_cast<double>(right_) / static_cast<double>(seen_);
  state_.mean_staleness = static_cast<double>(staleness_) / static_cast<double>(applied_);
  state_.slowest_dropped = who_is_dropped();
  options_.progress(state_);
  last_ = now;
  last_samples_ = state_.samples;
  loss_ = 0;
  right_ = seen_ = staleness_ = applied_ = 0;
}

}  // namespace yoke::train
