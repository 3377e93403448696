// Losses and metrics against sums made by hand.
#include "torch_adapter/objective.h"

#include <gtest/gtest.h>

#include <cmath>

namespace yoke::torch_adapter {
namespace {

using data::Schema;
using data::Task;

double metric(const Evaluation& evaluation, const std::string& name) {
  for (const auto& metric : evaluation.metrics)
    if (metric.name == name) return metric.value;
  ADD_FAILURE() << "there is no " << name;
  return 0;
}

Evaluation judged(const Schema& schema, const torch::Tensor& scores, const torch::Tensor& targets,
                  const data::Normalisation& normalisation = {}, std::uint32_t top = 2, Loss loss = Loss::standard) {
  const auto objective = Objective::make(schema, normalisation, loss, top).or_throw();
  Objective::Sums sums;
  // In two uneven pieces: means must be over samples, not over batches.
  objective.add(scores.slice(0, 0, 1), targets.slice(0, 0, 1), sums);
  objective.add(scores.slice(0, 1), targets.slice(0, 1), sums);
  return objective.result(sums);
}

TEST(Objective, classes) {
  const auto scores = torch::tensor({{2.0f, 1.0f, 0.0f}, {0.0f, 3.0f, 1.0f}, {1.0f, 0.5f, 0.0f}});
  const auto targets = torch::tensor({0, 2, 2}, torch::kLong);
  const auto result = judged({.shape = {1}, .outputs = 3}, scores, targets);
  const auto cost = [](double right, double a, double b, double c) {
    return -right + std::log(std::exp(a) + std::exp(b) + std::exp(c));
  };
  EXPECT_NEAR(result.loss, (cost(2, 2, 1, 0) + cost(1, 0, 3, 1) + cost(0, 1, 0.5, 0)) / 3, 1e-6);
  EXPECT_NEAR(*result.accuracy, 1.0 / 3, 1e-9);
  EXPECT_NEAR(metric(result, "top2"), 2.0 / 3, 1e-9);
  EXPECT_EQ(result.samples, 3u);
}

TEST(Objective, characters_have_a_perplexity) {
  const Schema schema{.shape = {2}, .tokens = true, .outputs = 4, .positions = 2};
  const auto result = judged(schema, torch::zeros({3, 2, 4}), torch::zeros({3, 2}, torch::kLong));
  EXPECT_NEAR(metric(result, "perplexity"), 4, 1e-4);  // no idea among four
  EXPECT_NEAR(*result.accuracy, 1, 1e-9);              // the first of equals
}

TEST(Objective, values_are_judged_in_their_own_units) {
  const Schema schema{.shape = {1}, .task = Task::values, .outputs = 1};
  const data::Normalisation normalisation{{}, {}, {100}, {10}};
  // True values 90, 100, 120; predictions 95, 100, 110.
  const auto scores = torch::tensor({{-0.5f}, {0.0f}, {1.0f}}), targets = torch::tensor({{-1.0f}, {0.0f}, {2.0f}});
  const auto result = judged(schema, scores, targets, normalisation);
  EXPECT_NEAR(result.loss, (0.25 + 0 + 1) / 3, 1e-6);
  EXPECT_FALSE(result.accuracy);
  EXPECT_NEAR(metric(result, "mse"), (25.0 + 0 + 100) / 3, 1e-3);
  EXPECT_NEAR(metric(result, "mae"), (5.0 + 0 + 10) / 3, 1e-4);
  const double mean = 310.0 / 3;
  const double spread = std::pow(90 - mean, 2) + std::pow(100 - mean, 2) + std::pow(120 - mean, 2);
  EXPECT_NEAR(metric(result, "r2"), 1 - 125 / spread, 1e-5);
  EXPECT_NEAR(judged(schema, scores, targets, normalisation, 2, Loss::absolute).loss, 0.5, 1e-6);
}

TEST(Objective, yes_or_no_once_and_several_times) {
  const auto scores = torch::tensor({{1.0f}, {-1.0f}, {2.0f}}), targets = torch::tensor({{1.0f}, {1.0f}, {0.0f}});
  const auto result = judged({.shape = {1}, .task = Task::binary, .outputs = 1}, scores, targets);
  EXPECT_NEAR(*result.accuracy, 1.0 / 3, 1e-9);
  const auto cost = [](double score, double yes) { return std::log1p(std::exp(yes ? -score : score)); };
  EXPECT_NEAR(result.loss, (cost(1, 1) + cost(-1, 1) + cost(2, 0)) / 3, 1e-6);
  const auto many = torch::tensor({{1.0f, -1.0f}, {1.0f, 1.0f}}), wanted = torch::tensor({{1.0f, 0.0f}, {1.0f, 0.0f}});
  const auto flags = judged({.shape = {1}, .task = Task::flags, .outputs = 2}, many, wanted);
  EXPECT_NEAR(*flags.accuracy, 0.75, 1e-9);
  EXPECT_NEAR(metric(flags, "exact"), 0.5, 1e-9);
}

TEST(Objective, refuses_a_loss_of_another_task_and_scores_of_another_shape) {
  const Schema classes{.shape = {1}, .outputs = 3};
  EXPECT_FALSE(Objective::make(classes, {}, Loss::squared, 5));
  EXPECT_FALSE(Objective::make({.shape = {1}, .task = Task::values, .outputs = 3}, {}, Loss::cross_entropy, 5));
  const auto objective = Objective::make(classes, {}, Loss::standard, 5).or_throw();
  EXPECT_EQ(objective.mismatch(torch::zeros({4, 3}), 4), "");
  EXPECT_NE(objective.mismatch(torch::zeros({4, 5}), 4).find("gives [4, 5] for 4 samples"), std::string::npos);
  EXPECT_NE(objective.mismatch(torch::zeros({4, 5}), 4).find("3 classes"), std::string::npos);
}

}  // namespace
}  // namespace yoke::torch_adapter
