#include "yoke/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "train/judge.h"
#include "train/progress.h"
#include "train/session.h"
#include "train/slowness.h"

namespace yoke {
namespace {

// A replica that always loses never does a whole piece of work, and nobody could say how slow it is: so once in a
// while it does one to the end all the same. Nobody waits for it.
constexpr std::uint64_t kMeasureEvery = 50;

// What the replicas of one fit share.
struct Shared {
  const Options& options;
  const FitOptions& fit;
  const MakeTrainable& make;
  train::ProgressMeter meter;

  // One replica at a time evaluates; the others go on.
  std::mutex judging{};
  std::optional<Error> could_not_make{};  // why a model could not be made: the caller's mistake, not a replica's loss
  std::optional<train::Judge> judge{};
  std::optional<Ended> ended{};
  std::uint64_t looked_at = 0;         // the newest version that was evaluated
  bool closed = false;                 // the result stands
  Fitted result{};                     // validation, version and state of the best so far; at the end, everything
  std::atomic<bool> claimed{false};    // somebody has set out to conclude
  std::atomic<bool> concluded{false};  // and did
};

// An exchange that never says that the work is in vain.
class ToTheEnd : public Exchange {
 public:
  explicit ToTheEnd(Exchange& exchange) : exchange_(exchange) {}
  Result<Assignment> begin() override { return exchange_.begin(); }
  Status await(SlotId slot) override { return exchange_.await(slot); }
  Status ready(SlotId slot, Payload gradient) override { return exchange_.ready(slot, std::move(gradient)); }
  bool abandoned() const override { return false; }
  Result<Outcome> finish() override { return exchange_.finish(); }

 private:
  Exchange& exchange_;
};

class FitOne {
 public:
  FitOne(Replica& replica, Shared& shared) : replica_(replica), shared_(shared), model_(make()), session_(open()) {}

  void run() {
    shared_.meter.expect(model_->samples());
    {
      const std::lock_guard lock(shared_.judging);
      if (!shared_.judge) shared_.judge.emplace(shared_.fit, model_->samples());
    }
    for (const auto& samples : replica_.samples(model_->samples(), shared_.fit.batch)) {
      const auto result = compute(samples);
      // The first piece of work is like no other: memory is taken, code is loaded.
      const auto work = whole_ && steps_++ > 0 ? session_.at_work() : Duration::zero();
      const auto outcome = session_.step(whole_).or_throw();
      const auto count = samples.empty() ? shared_.fit.batch : samples.size();
      const auto counted = shared_.meter.add(replica_.id(), result, count, session_.assignment(), outcome, work);
      if (shared_.fit.stop && shared_.fit.stop()) stop(Ended::stopped, "it was asked to stop");
      // Where training ends here, `conclude` evaluates.
      if (!session_.assignment().done) validate_if_due(counted);
    }
    if (shared_.claimed.exchange(true)) return;
    conclude();
    shared_.concluded = true;
  }

 private:
  std::unique_ptr<Trainable> make() {
    auto made = shared_.make(replica_.id());
    if (made) return std::move(*made);
    const std::lock_guard lock(shared_.judging);
    if (!shared_.could_not_make) shared_.could_not_make = made.error();
    throw Exception(made.error());
  }

  train::Session& open() {
    std::vector<std::span<float>> values;
    for (SlotId slot = 0; slot < model_->layout().slots.size(); ++slot) values.push_back(model_->values(slot));
    auto& session = replica_.open(model_->layout(), std::move(values), model_, model_->takes_a_core());
    session.on_begin([this](const Assignment& assignment) { model_->install(assignment); });
    return session;
  }

  StepResult compute(const Batch& samples) {
    const auto& assignment = session_.assignment();
    auto& exchange = session_.exchange();
    const bool measure = lost_in_a_row_ == 1 || (lost_in_a_row_ > 0 && lost_in_a_row_ % kMeasureEvery == 0);
    const double factor = train::slowness_of(shared_.options, replica_.id(), assignment.sequence);
    if (factor > 1) session_.pause(std::chrono::duration_cast<Duration>(last_ * (factor - 1)), measure);
    whole_ = measure || !exchange.abandoned();
    StepResult result;
    if (whole_) {
      const auto start = std::chrono::steady_clock::now();
      ToTheEnd to_the_end(exchange);
      result = model_->compute(samples, measure ? static_cast<Exchange&>(to_the_end) : exchange).or_throw();
      whole_ = measure || !exchange.abandoned();
      if (whole_) last_ = std::chrono::steady_clock::now() - start;
    }
    lost_in_a_row_ = exchange.abandoned() ? lost_in_a_row_ + 1 : 0;
    return result;
  }

  void stop(Ended why, const std::string& words) {
    {
      const std::lock_guard lock(shared_.judging);
      if (!shared_.ended) shared_.ended = why;
    }
    session_.stop(words);
  }

  Result<Evaluation> evaluate(HeldOut part) {
    const auto begin = session_.clock();
    auto evaluation = model_->evaluate(part, [&] {
      session_.stir();
      return !(shared_.fit.stop && shared_.fit.stop()) || session_.assignment().done;
    });
    session_.note(history::Span::What::evaluate, begin);
    return evaluation;
  }

  // Evaluates when it is time, if nobody else is at it; and ends the training when that says so.
  void validate_if_due(std::uint64_t counted) {
    {
      const std::lock_guard lock(shared_.judging);
      if (!shared_.judge->due(counted)) return;
    }
    if (const auto verdict = validate(session_.assignment().step); verdict.stop) stop(*verdict.stop, verdict.why);
  }

  train::Judge::Verdict validate(std::uint64_t version) {
    const auto evaluation = evaluate(HeldOut::validation);
    const std::lock_guard lock(shared_.judging);
    if (!evaluation) {
      if (evaluation.error().code != Code::cancelled) throw Exception(evaluation.error());
      return {};
    }
    // Once somebody concludes, the result stands, whoever is still looking at something.
    if (shared_.closed || evaluation->samples == 0) return {};
    shared_.meter.add(*evaluation, version);
    auto verdict = shared_.judge->judge(*evaluation, version);
    const bool newest = version >= shared_.looked_at;
    if (newest) shared_.looked_at = version;
    if (shared_.fit.keep_best ? verdict.best : newest) {
      shared_.result.validation = *evaluation;
      shared_.result.version = version;
      if (shared_.fit.keep_best) shared_.result.state = model_->state();
    }
    return verdict;
  }

  // Training is over, and this replica has the last version: the best becomes the result, and meets the test part. One
  // that was stopped is to be gone on with: then the last version is the result, and the test part is left alone.
  void conclude() {
    const auto version = session_.committed();
    bool cut_short, look;
    {
      const std::lock_guard lock(shared_.judging);
      cut_short = shared_.ended == Ended::stopped;
      // A training that was ended by what a look said keeps what it found then, unless the last version is wanted.
      look = !cut_short && version > shared_.looked_at && !(shared_.ended && shared_.fit.keep_best);
    }
    if (look) validate(version);
    auto& result = shared_.result;
    {
      const std::lock_guard lock(shared_.judging);
      shared_.closed = true;
      if (!cut_short && shared_.fit.keep_best && result.validation.samples > 0) {
        model_->restore(result.state).or_throw();
      } else {
        result.state = model_->state();
        if (result.version != version) result.validation = {};  // it was of another version
        result.version = version;
      }
    }
    if (shared_.fit.test && !cut_short) result.test = evaluate(HeldOut::test).or_throw();
  }

  Replica& replica_;
  Shared& shared_;
  const std::shared_ptr<Trainable> model_;
  train::Session& session_;
  Duration last_{};                  // how long the last whole computation took, without any slowness on purpose
  std::uint64_t lost_in_a_row_ = 0;  // steps that others were faster in
  bool whole_ = false;               // the present work was done to the end
  std::uint64_t steps_ = 0;
};

std::string why_nobody(const Summary& summary) {
  for (const auto& replica : summary.replicas)
    if (!replica.lost.empty()) return replica.lost;
  return "no replica was left";
}

}  // namespace

Result<Fitted> fit(const Options& options, const FitOptions& fit_options, const MakeTrainable& make) {
  Shared shared{options, fit_options, make, {options, fit_options}};
  auto summary = run_job(options, [&](Replica& replica) { FitOne(replica, shared).run(); });
  shared.meter.finish();
  if (!summary) return shared.could_not_make ? *shared.could_not_make : summary.error();
  if (!shared.concluded) return Error{Code::peer_down, "the result could not be evaluated: " + why_nobody(*summary)};
  auto& result = shared.result;
  result.summary = std::move(*summary);
  result.ended = shared.ended.value_or(Ended::finished);
  result.final_loss = shared.meter.last_loss();
  result.curve = shared.meter.curve();
  return std::move(result);
}

}  // namespace yoke
