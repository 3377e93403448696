#include "train/judge.h"

#include <gtest/gtest.h>

#include <limits>

namespace yoke::train {
namespace {

Evaluation with_accuracy(double accuracy) { return {.loss = 1 - accuracy, .accuracy = accuracy, .samples = 10}; }
Evaluation with_loss(double loss) { return {.loss = loss, .samples = 10}; }

TEST(Judge, asks_for_an_evaluation_once_an_epoch) {
  Judge judge({}, 100);
  EXPECT_FALSE(judge.due(0));
  EXPECT_FALSE(judge.due(99));
  EXPECT_TRUE(judge.due(100));
  EXPECT_FALSE(judge.due(100));
  EXPECT_FALSE(judge.due(199));
  EXPECT_TRUE(judge.due(420));  // three boundaries at once are one evaluation
  EXPECT_FALSE(judge.due(499));
  EXPECT_TRUE(judge.due(500));
}

TEST(Judge, asks_as_often_as_it_is_told_and_never_without_a_size) {
  FitOptions options;
  options.validate_every = 30;
  Judge often(options, 100);
  EXPECT_TRUE(often.due(30));
  EXPECT_FALSE(often.due(59));
  EXPECT_TRUE(often.due(60));
  EXPECT_FALSE(Judge({}, 0).due(1'000'000));
}

TEST(Judge, the_best_is_the_highest_accuracy_or_the_lowest_loss) {
  Judge by_accuracy({}, 1);
  EXPECT_TRUE(by_accuracy.judge(with_accuracy(0.5), 1).best);
  EXPECT_FALSE(by_accuracy.judge(with_accuracy(0.5), 2).best);  // no better: the earlier one stays
  EXPECT_TRUE(by_accuracy.judge(with_accuracy(0.6), 3).best);
  Judge by_loss({}, 1);
  EXPECT_TRUE(by_loss.judge(with_loss(3), 1).best);
  EXPECT_FALSE(by_loss.judge(with_loss(4), 2).best);
  EXPECT_FALSE(by_loss.judge(with_loss(std::numeric_limits<double>::quiet_NaN()), 3).best);
  EXPECT_TRUE(by_loss.judge(with_loss(2), 4).best);
}

TEST(Judge, a_loss_that_is_not_a_number_is_never_the_best_not_even_first) {
  Judge judge({}, 1);
  EXPECT_FALSE(judge.judge(with_loss(std::numeric_limits<double>::quiet_NaN()), 1).best);
  EXPECT_TRUE(judge.judge(with_loss(9), 2).best);
}

TEST(Judge, stops_at_the_target_and_says_so) {
  FitOptions options;
  options.target_accuracy = 0.85;
  Judge judge(options, 1);
  EXPECT_FALSE(judge.judge(with_accuracy(0.84), 1).stop);
  const auto verdict = judge.judge(with_accuracy(0.85), 2);
  ASSERT_TRUE(verdict.stop);
  EXPECT_EQ(*verdict.stop, Ended::target_reached);
  EXPECT_NE(verdict.why.find("0.85"), std::string::npos);
}

TEST(Judge, loses_patience_after_so_many_without_a_better_one) {
  FitOptions options;
  options.patience = 2;
  Judge judge(options, 1);
  EXPECT_FALSE(judge.judge(with_accuracy(0.5), 1).stop);
  EXPECT_FALSE(judge.judge(with_accuracy(0.4), 2).stop);
  EXPECT_FALSE(judge.judge(with_accuracy(0.6), 3).stop);  // better: counts from here again
  EXPECT_FALSE(judge.judge(with_accuracy(0.6), 4).stop);
  const auto verdict = judge.judge(with_accuracy(0.6), 5);
  ASSERT_TRUE(verdict.stop);
  EXPECT_EQ(*verdict.stop, Ended::out_of_patience);
}

TEST(Judge, an_evaluation_of_an_older_version_decides_nothing) {
  FitOptions options;
  options.patience = 1;
  Judge judge(options, 1);
  EXPECT_TRUE(judge.judge(with_accuracy(0.5), 10).best);
  const auto late = judge.judge(with_accuracy(0.9), 7);
  EXPECT_FALSE(late.best);
  EXPECT_FALSE(late.stop);
}

}  // namespace
}  // namespace yoke::train
