#include "cli/display.h"

#include <gtest/gtest.h>

namespace yoke::cli {
namespace {

FitProgress halfway() {
  FitProgress progress;
  progress.step = 120;
  progress.epoch = 1;
  progress.done = 0.5;
  progress.seconds_left = 75;
  progress.samples_per_second = 1234;
  progress.loss = 0.5;
  progress.accuracy = 0.875;
  return progress;
}

TEST(Display, a_log_gets_plain_lines) {
  const Display display({.epochs = 3}, 0);
  EXPECT_EQ(display.show(halfway()),
            "epoch 2/3   50 %  step 120  loss 0.5000  accuracy 0.875  1234 samples/s  1:15 left\n");
  EXPECT_EQ(display.clear(), "");
}

TEST(Display, a_terminal_gets_a_bar_that_fits) {
  const Display wide({.epochs = 3}, 200);
  const auto text = wide.show(halfway());
  EXPECT_TRUE(text.starts_with("\r\033[Kepoch 2/3 [==========          ]  50 %"));
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const Display narrow({.epochs = 3}, 40);
  EXPECT_LE(narrow.show(halfway()).size(), 40u + 3);  // the three that clear the line take no room
}

TEST(Display, says_what_the_strategy_and_the_task_make_worth_saying) {
  auto progress = halfway();
  progress.mean_staleness = 6.94;
  progress.dropped = 3;
  progress.validation = Evaluation{.loss = 2, .samples = 5};
  const auto text =
      Display({.strategy = Strategy::async, .steps = 240, .has_accuracy = false, .has_perplexity = true}, 0)
          .show(progress);
  EXPECT_NE(text.find("step 120/240"), std::string::npos);
  EXPECT_NE(text.find("perplexity 1.65"), std::string::npos);
  EXPECT_EQ(text.find("accuracy"), std::string::npos);
  EXPECT_NE(text.find("held out loss 2.0000"), std::string::npos);
  EXPECT_NE(text.find("staleness 6.9  dropped 3"), std::string::npos);
}

TEST(Display, news_stand_on_lines_of_their_own) {
  auto progress = halfway();
  progress.news = {"replica 3 is slow"};
  EXPECT_TRUE(Display({}, 0).show(progress).starts_with("replica 3 is slow\nepoch"));
  EXPECT_TRUE(Display({}, 100).show(progress).starts_with("\r\033[Kreplica 3 is slow\n\r\033[K"));
}

TEST(Display, times_as_people_write_them) {
  EXPECT_EQ(in_time(0.2), "0 s");
  EXPECT_EQ(in_time(59.4), "59 s");
  EXPECT_EQ(in_time(200), "3:20");
  EXPECT_EQ(in_time(7500), "2:05:00");
}

}  // namespace
}  // namespace yoke::cli
