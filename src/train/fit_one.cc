#include "train/fit_one.h"

#include <algorithm>
#include <utility>

#include "train/session.h"
#include "train/slowness.h"

namespace yoke::train {
namespace {

// A replica that always loses never does a whole piece of work, and nobody could say how slow it is: so once in a
// while it does one to the end all the same. Nobody waits for it.
constexpr std::uint64_t kMeasureEvery = 50;

// An exchange that never says that the work is in vain.
class ToTheEnd : public Exchange {
 public:
  explicit ToTheEnd(Exchange& exchange) : exchange_(exchange) {}
  Result<Assignment> begin() override { return exchange_.begin(); }
  Status await(SlotId slot) override { return exchange_.await(slot); }
  Status ready(SlotId slot, Payload gradient) override { return exchange_.ready(slot, std::move(gradient)); }
  std::shared_ptr<std::byte> memory(std::size_t bytes) override { return exchange_.memory(bytes); }
  bool abandoned() const override { return false; }
  Result<Outcome> finish() override { return exchange_.finish(); }

 private:
  Exchange& exchange_;
};

class FitOne {
 public:
  FitOne(Replica& replica, FitShared& shared) : replica_(replica), shared_(shared), model_(make()), session_(open()) {}
  ~FitOne() { session_.on_news({}); }
  FitOne(const FitOne&) = delete;
  FitOne& operator=(const FitOne&) = delete;

  void run() {
    shared_.meter.expect(model_->samples());
    {
      const std::lock_guard lock(shared_.judging);
      if (!shared_.judge) shared_.judge.emplace(shared_.fit, model_->samples());
    }
    session_.on_news([this](const wire::StepNews& news) { shared_.meter.add(news); });
    auto all = replica_.samples(model_->samples(), shared_.fit.batch);
    was_chief_ = session_.chief();
    if (was_chief_ && !session_.assignment().done) validate_if_due();  // it may go on from where that was due
    for (const auto& samples : all) {
      const auto result = compute(samples);
      // The first piece of work is like no other: memory is taken, code is loaded.
      const auto work = whole_ && steps_++ > 0 ? session_.at_work() : Duration::zero();
      const auto outcome = session_.step(whole_).or_throw();
      const auto news = news_of(samples, result, outcome, work);
      session_.tell(news);
      const bool chief = session_.chief();
      if (chief && !std::exchange(was_chief_, chief)) become_chief();
      was_chief_ = chief;
      if (chief) shared_.meter.add(news);
      if (shared_.fit.stop && shared_.fit.stop()) stop(Ended::stopped, "it was asked to stop");
      // Where training ends here, `conclude` evaluates.
      if (chief && !session_.assignment().done) validate_if_due();
    }
    if (session_.drained()) {
      shared_.drained = true;
      return;
    }
    // Not before somebody has: until then another may still have to become the chief.
    if (!session_.await_conclusion().or_throw() || shared_.claimed.exchange(true)) return;
    if (!was_chief_) become_chief();
    conclude();
    if (!session_.conclude())
      throw Exception({Code::peer_down, "it was taken for lost while it drew the conclusion; another replica does"});
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

  Session& open() {
    std::vector<std::span<float>> values;
    for (SlotId slot = 0; slot < model_->layout().slots.size(); ++slot) values.push_back(model_->values(slot));
    auto& session = replica_.open(model_->layout(), std::move(values), model_, model_->takes_a_core());
    session.on_begin([this](const Assignment& assignment) { model_->install(assignment); });
    if (model_->awaits()) session.leave_late();
    return session;
  }

  StepResult compute(const Batch& samples) {
    const auto& assignment = session_.assignment();
    auto& exchange = session_.exchange();
    const bool measure = lost_in_a_row_ == 1 || (lost_in_a_row_ > 0 && lost_in_a_row_ % kMeasureEvery == 0);
    const double factor = slowness_of(shared_.options, replica_.id(), assignment.sequence);
    if (factor > 1) session_.pause(std::chrono::duration_cast<Duration>(last_ * (factor - 1)), measure);
    whole_ = measure || !exchange.abandoned();
    StepResult result;
    if (whole_) {
      const auto start = std::chrono::steady_clock::now();
      const auto awaited = session_.awaited();
      ToTheEnd to_the_end(exchange);
      result = model_->compute(samples, measure ? static_cast<Exchange&>(to_the_end) : exchange).or_throw();
      whole_ = measure || !exchange.abandoned();
      if (whole_) last_ = std::chrono::steady_clock::now() - start - (session_.awaited() - awaited);
    }
    lost_in_a_row_ = exchange.abandoned() ? lost_in_a_row_ + 1 : 0;
    return result;
  }

  // After a step: what it was, and where the replica stands now.
  wire::StepNews news_of(const Batch& samples, const StepResult& result, const Outcome& outcome, Duration work) const {
    const auto& next = session_.assignment();
    wire::StepNews news;
    news.replica = replica_.id();
    news.loss = result.loss;
    news.right = result.right;
    news.samples = samples.empty() ? shared_.fit.batch : samples.size();
    news.fate = static_cast<wire::Fate>(outcome.fate);
    news.staleness = outcome.staleness;
    news.step = std::max(outcome.version, next.step);
    news.epoch = next.epoch;
    news.work_seconds = std::chrono::duration<double>(work).count();
    news.whole = work > Duration::zero();
    return news;
  }

  void stop(Ended why, const std::string& words) {
    {
      const std::lock_guard lock(shared_.judging);
      if (!shared_.ended) shared_.ended = why;
    }
    session_.stop(words);
  }

  Result<Evaluation> evaluate(HeldOut part) {
    if (auto here = session_.await_values(); !here) return here.error();
    const auto begin = session_.clock();
    auto evaluation = model_->evaluate(part, [&] {
      session_.stir();
      return !(shared_.fit.stop && shared_.fit.stop()) || session_.assignment().done;
    });
    session_.note(history::Span::What::evaluate, begin);
    return evaluation;
  }

  // Evaluates when it is time, if nobody else is at it; and ends the training when that says so.
  void validate_if_due() {
    {
      const std::lock_guard lock(shared_.judging);
      const auto& now = session_.assignment();
      catch_up(now.step, now.counted);
      if (!shared_.judge->due(now.counted)) return;
    }
    const auto& now = session_.assignment();
    if (const auto verdict = validate(now.step, now.counted); verdict.stop) stop(*verdict.stop, verdict.why);
  }

  // What was looked at before this process was the chief: in a run that is gone on with, or by a chief that was lost.
  // Looks at later versions than the present one are of a life that never happened.
  void catch_up(std::uint64_t version, std::uint64_t counted) {
    const auto& folder = replica_.options().checkpoints.folder;
    if (std::exchange(shared_.caught_up, true)) return;
    std::vector<CurvePoint> curve;
    if (!folder.empty() && version > 0) {
      auto looks = read_looks(folder).or_throw();
      std::erase_if(looks, [&](const Look& look) { return look.version > version; });
      for (const auto& look : looks) {
        shared_.judge->due(look.counted);
        const auto verdict = shared_.judge->judge(look.evaluation, look.version);
        shared_.looked_at = std::max(shared_.looked_at, look.version);
        if (shared_.fit.keep_best ? verdict.best : true) {
          shared_.result.validation = look.evaluation;
          shared_.result.version = look.version;
        }
        curve.push_back({look.seconds, look.version, look.counted, look.evaluation.loss, look.evaluation.accuracy,
                         look.training_loss});
      }
      shared_.looks = std::move(looks);
      if (shared_.fit.keep_best && shared_.result.version > 0) take_best(folder);
    }
    shared_.meter.go_on_from(counted, std::move(curve));
  }

  // Where the file has a later one, it is of a life that never happened, and what was the best before it is gone: the
  // next look is the best so far.
  void take_best(const std::string& folder) {
    auto best = read_best(folder).or_throw();
    if (best && best->version == shared_.result.version) {
      shared_.result.state = std::move(best->state);
      return;
    }
    shared_.result.validation = {};
    shared_.judge->forget_best();
  }

  // Another was the chief until now, and has looked since this one last did.
  void become_chief() {
    if (replica_.options().processes.join.empty()) return;  // in one process there is one judge
    const std::lock_guard lock(shared_.judging);
    shared_.judge.emplace(shared_.fit, model_->samples());
    shared_.looks.clear();
    shared_.caught_up = false;
  }

  // Beside the checkpoints, where there are any. A disk that fails stops nobody.
  void keep_look(const CurvePoint& point, std::uint64_t counted, const Evaluation& evaluation, bool best) {
    const auto& folder = replica_.options().checkpoints.folder;
    if (folder.empty()) return;
    shared_.looks.push_back({point.step, counted, evaluation, point.seconds, point.training_loss});
    auto written = best && shared_.fit.keep_best ? write_best(folder, point.step, shared_.result.state) : Status{};
    if (written) written = write_looks(folder, shared_.looks);
    if (!written && replica_.options().say)
      replica_.options().say("the evaluation could not be kept: " + written.error().message);
  }

  Judge::Verdict validate(std::uint64_t version, std::uint64_t counted) {
    const auto evaluation = evaluate(HeldOut::validation);
    const std::lock_guard lock(shared_.judging);
    if (!evaluation) {
      if (evaluation.error().code != Code::cancelled) throw Exception(evaluation.error());
      return {};
    }
    // Once somebody concludes, the result stands, whoever is still looking at something.
    if (shared_.closed || evaluation->samples == 0) return {};
    const auto point = shared_.meter.add(*evaluation, version);
    auto verdict = shared_.judge->judge(*evaluation, version);
    const bool newest = version >= shared_.looked_at;
    if (newest) shared_.looked_at = version;
    if (shared_.fit.keep_best ? verdict.best : newest) {
      shared_.result.validation = *evaluation;
      shared_.result.version = version;
      if (shared_.fit.keep_best) shared_.result.state = model_->state();
    }
    keep_look(point, counted, *evaluation, verdict.best);
    return verdict;
  }

  // Training is over, and this replica has the last version: the best becomes the result, and meets the test part. One
  // that was stopped is to be gone on with: then the last version is the result, and the test part is left alone.
  void conclude() {
    const auto version = session_.committed();
    const auto account = session_.account();
    const auto counted = account ? account->samples : 0;
    bool cut_short, look;
    {
      const std::lock_guard lock(shared_.judging);
      catch_up(version, counted);
      // An end that nobody here asked for was asked for in another process.
      if (!shared_.ended && account && !account->stopped.empty()) shared_.ended = Ended::stopped;
      cut_short = shared_.ended == Ended::stopped;
      // A training that was ended by what a look said keeps what it found then, unless the last version is wanted.
      look = !cut_short && version > shared_.looked_at && !(shared_.ended && shared_.fit.keep_best);
    }
    if (look) validate(version, counted);
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
  FitShared& shared_;
  const std::shared_ptr<Trainable> model_;
  Session& session_;
  Duration last_{};                  // how long the last whole computation took, without any slowness on purpose
  std::uint64_t lost_in_a_row_ = 0;  // steps that others were faster in
  bool whole_ = false;               // the present work was done to the end
  bool was_chief_ = false;           // in the step before
  std::uint64_t steps_ = 0;
};

std::string why_nobody(const Summary& summary) {
  for (const auto& replica : summary.replicas)
    if (!replica.lost.empty()) return replica.lost;
  return "no replica was left";
}

}  // namespace

void fit_one(Replica& replica, FitShared& shared) { FitOne(replica, shared).run(); }

Result<Fitted> conclusion(FitShared& shared, Result<Summary> summary) {
  shared.meter.finish();
  if (!summary) return shared.could_not_make ? *shared.could_not_make : summary.error();
  const auto ended = shared.ended.value_or(Ended::finished);
  if (!shared.concluded) {
    const bool elsewhere = !shared.options.processes.join.empty() && !shared.claimed;
    if (elsewhere)
      return Fitted{.summary = std::move(*summary), .ended = ended, .concluded = false, .drained = shared.drained};
    return Error{Code::peer_down, "the result could not be evaluated: " + why_nobody(*summary)};
  }
  auto& result = shared.result;
  result.summary = std::move(*summary);
  result.ended = ended;
  result.final_loss = shared.meter.last_loss();
  result.curve = shared.meter.curve();
  return std::move(result);
}

}  // namespace yoke::train
