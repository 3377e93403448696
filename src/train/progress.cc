#include "train/progress.h"

#include <algorithm>

namespace yoke::train {

ProgressMeter::ProgressMeter(const Options& options, const FitOptions& fit)
    : options_(options), fit_(fit), stragglers_(options) {}

void ProgressMeter::expect(std::uint64_t epoch_samples) {
  const std::lock_guard lock(mutex_);
  epoch_samples_ = epoch_samples;
}

void ProgressMeter::go_on_from(std::uint64_t samples, std::vector<CurvePoint> curve) {
  const std::lock_guard lock(mutex_);
  state_.samples = std::max(state_.samples, samples);
  last_samples_ = state_.samples;
  if (!curve.empty()) seconds_before_ = curve.back().seconds;
  evaluated_ = std::move(curve);
  done_before_ = part_done();
}

void ProgressMeter::add(const wire::StepNews& news) {
  const std::lock_guard lock(mutex_);
  if (news.work_seconds > 0 && news.replica < options_.replicas)
    stragglers_.add(news.replica,
                    std::chrono::duration_cast<Duration>(std::chrono::duration<double>(news.work_seconds)));
  if (news.fate == wire::Fate::applied) {
    for (auto* stretch : {&since_report_, &since_point_}) {
      stretch->loss += news.loss * static_cast<double>(news.samples);
      stretch->right += news.right;
      stretch->seen += news.samples;
    }
    staleness_ += news.staleness;
    ++applied_;
    state_.samples += news.samples;
  } else {
    ++(news.fate == wire::Fate::dropped ? state_.dropped : state_.refused);
  }
  state_.step = std::max(state_.step, news.step);
  state_.epoch = std::max(state_.epoch, news.epoch);
  const auto now = Clock::now();
  if (now - last_ >= fit_.every) report(now);
}

CurvePoint ProgressMeter::add(const Evaluation& validation, std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  state_.validation = validation;
  const double seconds = seconds_before_ + std::chrono::duration<double>(Clock::now() - start_).count();
  evaluated_.push_back(
      {seconds, version, state_.samples, validation.loss, validation.accuracy, since_point_.mean_loss()});
  since_point_ = {};
  return evaluated_.back();
}

void ProgressMeter::finish() {
  const std::lock_guard lock(mutex_);
  report(Clock::now());
}

double ProgressMeter::part_done() const {
  const double by_steps = options_.steps ? static_cast<double>(state_.step) / static_cast<double>(options_.steps) : 0;
  const double all = static_cast<double>(epoch_samples_) * options_.epochs;
  const double by_samples = !options_.steps && all > 0 ? static_cast<double>(state_.samples) / all : 0;
  return std::min(1.0, std::max(by_steps, by_samples));
}

void ProgressMeter::report(Clock::time_point now) {
  if (since_report_.seen == 0) return;
  state_.seconds = std::chrono::duration<double>(now - start_).count();
  const double since = std::chrono::duration<double>(now - last_).count();
  state_.samples_per_second = since > 0 ? static_cast<double>(state_.samples - last_samples_) / since : 0;
  state_.done = part_done();
  const double here = state_.done - done_before_;
  state_.seconds_left = here > 0 ? state_.seconds / here * (1 - state_.done) : 0;
  state_.loss = since_report_.mean_loss();
  state_.accuracy = since_report_.right / static_cast<double>(since_report_.seen);
  state_.mean_staleness = applied_ ? static_cast<double>(staleness_) / static_cast<double>(applied_) : 0;
  state_.news = stragglers_.news();
  reported_.push_back({state_.seconds, state_.step, state_.samples, state_.loss, state_.accuracy, state_.loss});
  if (fit_.progress) fit_.progress(state_);
  last_ = now;
  last_samples_ = state_.samples;
  since_report_ = {};
  staleness_ = applied_ = 0;
}

}  // namespace yoke::train
