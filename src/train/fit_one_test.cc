// A fit whose other replicas are processes of their own: who looks at the held-out data, who reports, who concludes.
#include "train/fit_one.h"

#include <gtest/gtest.h>

#include "strategy/strategy.h"
#include "train/elsewhere.h"
#include "train/run_one.h"
#include "train/toy_model.h"

namespace yoke::train {
namespace {

constexpr std::uint64_t kFitOneSamples = 80;

// What the models were asked for.
struct Looks {
  int validations = 0, tests = 0, steps = 0;
};

class ToyAlone : public Trainable {
 public:
  explicit ToyAlone(Looks& looks) : looks_(looks) {}
  const Layout& layout() const override { return model_.layout(); }
  std::span<float> values(SlotId slot) override { return model_.values()[slot]; }
  std::uint64_t samples() const override { return kFitOneSamples; }
  Result<StepResult> compute(std::span<const std::uint64_t> samples, Exchange& exchange) override {
    model_.compute({samples.begin(), samples.end()}, exchange);
    ++looks_.steps;
    return StepResult{1, 4};
  }
  Result<Evaluation> evaluate(HeldOut part, const std::function<bool()>&) override {
    ++(part == HeldOut::test ? looks_.tests : looks_.validations);
    return Evaluation{.loss = 1, .accuracy = 0.5, .samples = 7};
  }

 private:
  Looks& looks_;
  ToyModel model_;
};

struct FitOneOf : testing::Test {
  FitOneOf() {
    options.epochs = 2;
    options.processes.join = "elsewhere";
    fit_options.batch = 8;
    fit_options.every = std::chrono::milliseconds(0);
    fit_options.progress = [this](const FitProgress& progress) { reports.push_back(progress); };
  }

  Result<Fitted> run() {
    const MakeTrainable make = [&](std::uint32_t) -> Result<std::unique_ptr<Trainable>> {
      return std::unique_ptr<Trainable>(std::make_unique<ToyAlone>(looks));
    };
    FitShared shared{options, fit_options, make, {options, fit_options}};
    Job job(options, open_elsewhere(strategy::plan(options).or_throw(), elsewhere), 0);
    return conclusion(shared, run_one(job, 0, [&](Replica& replica) { fit_one(replica, shared); }));
  }

  Options options;
  FitOptions fit_options;
  Elsewhere elsewhere;
  Looks looks;
  std::vector<FitProgress> reports;
};

TEST_F(FitOneOf, whoever_is_not_the_chief_only_tells) {
  elsewhere.chief = [] { return false; };
  const auto fitted = run();
  ASSERT_TRUE(fitted) << fitted.error().message;
  EXPECT_FALSE(fitted->concluded);
  EXPECT_EQ(fitted->summary.samples, 2 * kFitOneSamples);
  EXPECT_TRUE(fitted->state.tensors.empty());
  EXPECT_EQ(looks.validations + looks.tests, 0);
  EXPECT_TRUE(reports.empty());
  ASSERT_EQ(elsewhere.told.size(), 20u);
  const auto& news = elsewhere.told[10];
  EXPECT_EQ(news.samples, 8u);
  EXPECT_EQ(news.fate, wire::Fate::applied);
  EXPECT_EQ(news.loss, 1);
  EXPECT_EQ(news.right, 4);
  EXPECT_EQ(news.step, 11u);
  EXPECT_EQ(news.epoch, 1u);
  EXPECT_TRUE(news.whole);
  EXPECT_GT(news.work_seconds, 0);
}

TEST_F(FitOneOf, the_chief_counts_what_it_hears_and_concludes) {
  elsewhere.chief = [&] {
    if (elsewhere.hear && elsewhere.told.size() == 1 && reports.empty()) {
      auto theirs = elsewhere.told.front();
      theirs.samples = kFitOneSamples;
      theirs.loss = 3;
      elsewhere.hear(theirs);
    }
    return true;
  };
  const auto fitted = run();
  ASSERT_TRUE(fitted) << fitted.error().message;
  EXPECT_TRUE(fitted->concluded);
  EXPECT_FALSE(elsewhere.hear);  // nothing is heard once it has returned
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports[0].samples, kFitOneSamples);
  EXPECT_EQ(reports[0].loss, 3);
  ASSERT_FALSE(fitted->curve.empty());
  EXPECT_EQ(fitted->curve[0].step, 10u);  // where the log says that an epoch has counted, whatever was heard
  EXPECT_EQ(looks.tests, 1);
  EXPECT_EQ(fitted->ended, Ended::finished);
  EXPECT_FALSE(fitted->state.tensors.empty());
}

TEST_F(FitOneOf, who_becomes_the_chief_on_the_way_concludes) {
  elsewhere.chief = [&] { return looks.steps > 15; };
  const auto fitted = run();
  ASSERT_TRUE(fitted) << fitted.error().message;
  EXPECT_TRUE(fitted->concluded);
  EXPECT_EQ(fitted->curve.at(0).step, 16u);  // an epoch has gone by, and it has not looked yet
  EXPECT_EQ(fitted->curve.at(1).step, 20u);
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports[0].step, 16u);
}

TEST_F(FitOneOf, a_stop_that_another_process_asked_for_is_the_chiefs_too) {
  elsewhere.retouch = [](wire::Account& account) { account.stopped = "it was asked to stop"; };
  const auto fitted = run();
  ASSERT_TRUE(fitted) << fitted.error().message;
  EXPECT_EQ(fitted->ended, Ended::stopped);
  EXPECT_EQ(looks.tests, 0);
}

TEST_F(FitOneOf, a_stop_asked_for_here_ends_the_job_whoever_is_the_chief) {
  elsewhere.chief = [] { return false; };
  fit_options.stop = [&] { return looks.steps >= 5; };
  const auto fitted = run();
  ASSERT_TRUE(fitted) << fitted.error().message;
  EXPECT_FALSE(fitted->concluded);
  EXPECT_EQ(fitted->ended, Ended::stopped);
  EXPECT_LT(fitted->summary.steps, 20u);
  EXPECT_EQ(fitted->summary.stopped, "it was asked to stop");
}

}  // namespace
}  // namespace yoke::train
