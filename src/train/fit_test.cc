// What fit makes of held-out data: when it looks, what it keeps, when it stops. The model's own judgement is scripted.
#include "yoke/fit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <limits>
#include <mutex>

#include "train/toy_model.h"

namespace yoke {
namespace {

constexpr std::uint64_t kFitSamples = 96;

// What the evaluations are to say, and what they saw: shared by all replicas.
struct Script {
  std::vector<double> accuracies;  // the n-th look at the held-out data; the last one stays
  std::mutex mutex;
  std::size_t looks = 0, tests = 0;
  std::vector<State> seen;  // the values at each look
  State tested;
  std::optional<Error> problem;  // to fail with instead
  // The first look waits for a second to begin, and all others for the test: they end when the result already stands.
  bool gated = false;
  std::condition_variable changed;
};

class ScriptedToy : public Trainable {
 public:
  explicit ScriptedToy(std::shared_ptr<Script> script) : script_(std::move(script)) {}

  const Layout& layout() const override { return model_.layout(); }
  std::span<float> values(SlotId slot) override { return model_.values()[slot]; }
  std::uint64_t samples() const override { return kFitSamples; }
  bool takes_a_core() const override { return false; }
  Result<StepResult> compute(std::span<const std::uint64_t> samples, Exchange& exchange) override {
    model_.compute({samples.begin(), samples.end()}, exchange);
    return StepResult{1, 0};
  }
  Result<Evaluation> evaluate(HeldOut part, const std::function<bool()>& breathe) override {
    if (!breathe()) return Error{Code::cancelled, "stopped"};
    std::unique_lock lock(script_->mutex);
    if (script_->problem) return *script_->problem;
    if (part == HeldOut::test) {
      ++script_->tests;
      script_->changed.notify_all();
      script_->tested = state();
      return Evaluation{.loss = 1, .accuracy = 0.123, .samples = 7};
    }
    if (script_->accuracies.empty()) return Evaluation{};
    const auto look = std::min(script_->looks++, script_->accuracies.size() - 1);
    script_->seen.push_back(state());
    script_->changed.notify_all();
    if (script_->gated && look == 0) script_->changed.wait(lock, [&] { return script_->looks > 1; });
    if (script_->gated && look > 0) script_->changed.wait(lock, [&] { return script_->tests > 0; });
    return Evaluation{.loss = 1, .accuracy = script_->accuracies[look], .samples = 7};
  }

 private:
  std::shared_ptr<Script> script_;
  train::ToyModel model_;
};

Options options_to_fit(Strategy strategy, std::uint32_t epochs) {
  Options options;
  options.strategy = strategy;
  options.replicas = 3;
  options.epochs = epochs;
  return options;
}

FitOptions quick() {
  FitOptions fit;
  fit.batch = 8;
  return fit;
}

Result<Fitted> run(const std::shared_ptr<Script>& script, const Options& options, const FitOptions& fit) {
  return yoke::fit(options, fit, [&](std::uint32_t) -> Result<std::unique_ptr<Trainable>> {
    return std::unique_ptr<Trainable>(std::make_unique<ScriptedToy>(script));
  });
}

std::shared_ptr<Script> script_of(std::vector<double> accuracies) {
  auto script = std::make_shared<Script>();
  script->accuracies = std::move(accuracies);
  return script;
}

void expect_same(const State& a, const State& b) {
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) EXPECT_EQ(a.tensors[i].bytes, b.tensors[i].bytes);
}

class Fit : public testing::TestWithParam<Strategy> {};

TEST_P(Fit, keeps_the_version_that_did_best_and_tests_that_one_once) {
  const auto script = script_of({0.3, 0.9, 0.5, 0.4});
  const auto fitted = run(script, options_to_fit(GetParam(), 4), quick());
  ASSERT_TRUE(fitted) << fitted.error().message;
  EXPECT_EQ(fitted->ended, Ended::finished);
  EXPECT_EQ(script->tests, 1u);
  ASSERT_GE(script->seen.size(), 2u);
  expect_same(fitted->state, script->seen[1]);
  expect_same(script->tested, script->seen[1]);
  EXPECT_EQ(fitted->validation.accuracy, 0.9);
  EXPECT_EQ(fitted->test.accuracy, 0.123);
  ASSERT_EQ(fitted->curve.size(), script->looks);
  EXPECT_EQ(fitted->curve[1].accuracy, 0.9);
  EXPECT_EQ(fitted->summary.samples, 4 * kFitSamples);
  EXPECT_EQ(fitted->summary.least_counted, 1u);
  EXPECT_EQ(fitted->summary.most_counted, 1u);
}

TEST_P(Fit, keeps_the_last_when_told) {
  const auto script = script_of({0.9, 0.1});
  auto fit = quick();
  fit.keep_best = false;
  const auto fitted = run(script, options_to_fit(GetParam(), 2), fit);
  ASSERT_TRUE(fitted) << fitted.error().message;
  expect_same(fitted->state, script->seen.back());
  EXPECT_EQ(fitted->validation.accuracy, 0.1);
  EXPECT_EQ(fitted->version, fitted->summary.steps);
}

TEST_P(Fit, stops_at_the_target) {
  const auto script = script_of({0.3, 0.9});
  auto fit = quick();
  fit.target_accuracy = 0.8;
  const auto fitted = run(script, options_to_fit(GetParam(), 50), fit);
  ASSERT_TRUE(fitted) << fitted.error().message;
  EXPECT_EQ(fitted->ended, Ended::target_reached);
  EXPECT_LT(fitted->summary.epochs, 50u);
  EXPECT_NE(fitted->summary.stopped.find("0.9"), std::string::npos);
  EXPECT_EQ(fitted->test.samples, 7u);
}

TEST_P(Fit, stops_when_patience_is_out) {
  const auto script = script_of({0.5});
  auto fit = quick();
  fit.patience = 3;
  const auto fitted = run(script, options_to_fit(GetParam(), 50), fit);
  ASSERT_TRUE(fitted) << fitted.error().message;
  EXPECT_EQ(fitted->ended, Ended::out_of_patience);
  EXPECT_EQ(script->looks, 4u);  // the first, and three that were no better
  EXPECT_EQ(fitted->validation.accuracy, 0.5);
  expect_same(fitted->state, script->seen[0]);
}

TEST_P(Fit, one_that_is_stopped_keeps_its_last_version_and_leaves_the_test_alone) {
  const auto script = script_of({0.5, 0.1});
  auto fit = quick();
  std::atomic<int> asked{0};
  fit.stop = [&] { return ++asked > 60; };
  const auto fitted = run(script, options_to_fit(GetParam(), 1'000'000), fit);
  ASSERT_TRUE(fitted) << fitted.error().message;
  EXPECT_EQ(fitted->ended, Ended::stopped);
  EXPECT_EQ(script->tests, 0u);
  EXPECT_EQ(fitted->test.samples, 0u);
  EXPECT_EQ(fitted->version, fitted->summary.steps);
  EXPECT_EQ(fitted->summary.assigned, fitted->summary.applied + fitted->summary.dropped);
}

TEST_P(Fit, without_held_out_data_the_curve_is_that_of_the_training) {
  const auto script = script_of({});
  auto fit = quick();
  fit.every = std::chrono::milliseconds(0);
  const auto fitted = run(script, options_to_fit(GetParam(), 1), fit);
  ASSERT_TRUE(fitted) << fitted.error().message;
  EXPECT_EQ(fitted->validation.samples, 0u);
  ASSERT_FALSE(fitted->curve.empty());
  EXPECT_EQ(fitted->curve.back().loss, 1);
  EXPECT_EQ(fitted->final_loss, 1);
}

TEST_P(Fit, looks_as_often_as_it_is_told) {
  const auto script = script_of({0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8});
  auto fit = quick();
  fit.validate_every = kFitSamples / 2;
  const auto fitted = run(script, options_to_fit(GetParam(), 3), fit);
  ASSERT_TRUE(fitted) << fitted.error().message;
  EXPECT_GE(script->looks, 5u);
  EXPECT_LE(script->looks, 7u);
}

TEST_P(Fit, an_evaluation_that_fails_fails_the_training_by_name) {
  const auto script = script_of({0.5});
  script->problem = Error{Code::corrupt, "held-out.png is damaged"};
  const auto fitted = run(script, options_to_fit(GetParam(), 2), quick());
  ASSERT_FALSE(fitted);
  EXPECT_NE(fitted.error().message.find("held-out.png is damaged"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Strategies, Fit, testing::Values(Strategy::sync, Strategy::mirrored, Strategy::async),
                         [](const auto& it) {
                           return it.param == Strategy::sync    ? "sync"
                                  : it.param == Strategy::async ? "async"
                                                                : "mirrored";
                         });

// One replica's look reaches the target while the others are still looking at newer versions.
TEST(FitAsync, what_is_found_after_the_result_stands_does_not_change_it) {
  const auto script = script_of({0.9, 0.99});
  script->gated = true;
  auto fit = quick();
  fit.validate_every = 8;
  fit.target_accuracy = 0.8;
  const auto fitted = run(script, options_to_fit(Strategy::async, 1'000'000), fit);
  ASSERT_TRUE(fitted) << fitted.error().message;
  EXPECT_EQ(fitted->ended, Ended::target_reached);
  EXPECT_EQ(fitted->validation.accuracy, 0.9);
  expect_same(fitted->state, script->seen[0]);
  expect_same(script->tested, script->seen[0]);
}

TEST(FitWithSpares, a_slow_replica_is_named_while_it_runs) {
  const auto script = script_of({});
  auto options = options_to_fit(Strategy::sync, 1'000'000);
  options.replicas = 4;
  options.spares = 1;
  auto fit = quick();
  fit.every = std::chrono::milliseconds(0);
  options.slow = {{2, 100}};
  std::atomic<bool> named{false};
  fit.progress = [&](const FitProgress& progress) {
    for (const auto& line : progress.news)
      if (line.find("replica 2 is") != std::string::npos &&
          line.find("with 1 spare it holds nobody up") != std::string::npos)
        named = true;
  };
  fit.stop = [&] { return named.load(); };  // a replica that is never named makes the test run into its limit
  const auto fitted = run(script, options, fit);
  ASSERT_TRUE(fitted) << fitted.error().message;
  EXPECT_TRUE(named);
  EXPECT_GT(fitted->summary.replicas[2].mean_step_seconds, 10 * fitted->summary.replicas[1].mean_step_seconds);
}

}  // namespace
}  // namespace yoke
