#include "yoke/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "train/progress.h"
#include "train/session.h"

namespace yoke {
namespace {

// What the replicas of one fit share.
struct Shared {
  const Options& options;
  const FitOptions& fit;
  const MakeTrainable& make;
  train::ProgressMeter meter;
  std::atomic<bool> evaluating{false};
  std::optional<Result<Evaluation>> test;
};

using Clock = std::chrono::steady_clock;

void fit_one(Replica& replica, Shared& shared) {
  std::shared_ptr<Trainable> model = shared.make(replica.id()).or_throw();
  std::vector<std::span<float>> values;
  for (SlotId slot = 0; slot < model->layout().slots.size(); ++slot) values.push_back(model->values(slot));
  auto& session = replica.open(model->layout(), std::move(values), model, model->takes_a_core());
  session.on_begin([&](const Assignment& assignment) { model->install(assignment); });

  const auto slow = shared.options.slow.find(replica.id());
  const double factor = slow == shared.options.slow.end() ? 1 : slow->second;
  Duration last{};  // how long the last whole computation took
  for (const auto& samples : replica.samples(model->samples(), shared.fit.batch)) {
    if (factor > 1) session.pause(std::chrono::duration_cast<Duration>(last * (factor - 1)));
    StepResult result;
    if (!session.exchange().abandoned()) {
      const auto start = Clock::now();
      result = model->compute(samples, session.exchange()).or_throw();
      if (!session.exchange().abandoned()) last = Clock::now() - start;
    }
    const auto count = samples.empty() ? shared.fit.batch : samples.size();
    const auto outcome = session.step().or_throw();
    shared.meter.add(replica.id(), result, count, session.assignment(), outcome);
  }
  if (shared.evaluating.exchange(true)) return;
  shared.test = model->evaluate();
}

}  // namespace

Result<Fitted> fit(const Options& options, const FitOptions& fit_options, const MakeTrainable& make) {
  Shared shared{options, fit_options, make, train::ProgressMeter(options.replicas, fit_options), {}, {}};
  auto summary = run_job(options, [&](Replica& replica) { fit_one(replica, shared); });
  shared.meter.finish();
  if (!summary) return summary.error();
  if (!shared.test) {
    std::string why;
    for (const auto& replica : summary->replicas)
      if (why.empty()) why = replica.lost;
    return Error{Code::peer_down, "the result could not be evaluated: " + (why.empty() ? "no replica was left" : why)};
  }
  if (!*shared.test) return shared.test->error();
  return Fitted{std::move(*summary), **shared.test};
}

}  // namespace yoke
