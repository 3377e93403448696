#include "train/progress.h"

#include <gtest/gtest.h>

namespace yoke::train {
namespace {

// What replica `replica` did with 10 samples of this loss.
wire::StepNews news_of(std::uint32_t replica, double loss, wire::Fate fate = wire::Fate::applied) {
  wire::StepNews news;
  news.replica = replica;
  news.loss = loss;
  news.right = 5;
  news.samples = 10;
  news.fate = fate;
  return news;
}

struct Progress : testing::Test {
  Progress() {
    options.replicas = 2;
    options.epochs = 2;
    fit.every = std::chrono::hours(1);
    fit.progress = [this](const FitProgress& progress) { reports.push_back(progress); };
  }
  Options options;
  FitOptions fit;
  std::vector<FitProgress> reports;
};

TEST_F(Progress, news_of_all_replicas_add_up_whatever_process_they_come_from) {
  ProgressMeter meter(options, fit);
  meter.expect(40);
  auto first = news_of(0, 1), second = news_of(1, 3);
  first.step = 4;
  second.step = 3;
  second.epoch = 1;
  second.staleness = 2;
  meter.add(first);
  meter.add(second);
  meter.finish();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].step, 4u);
  EXPECT_EQ(reports[0].epoch, 1u);
  EXPECT_EQ(reports[0].samples, 20u);
  EXPECT_EQ(reports[0].done, 0.25);
  EXPECT_EQ(reports[0].loss, 2);
  EXPECT_EQ(reports[0].accuracy, 0.5);
  EXPECT_EQ(reports[0].mean_staleness, 1);
  EXPECT_EQ(meter.last_loss(), 2);
}

TEST_F(Progress, what_did_not_count_is_not_in_the_mean) {
  ProgressMeter meter(options, fit);
  meter.add(news_of(0, 1));
  meter.add(news_of(1, 100, wire::Fate::dropped));
  meter.add(news_of(1, 100, wire::Fate::refused));
  meter.finish();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].loss, 1);
  EXPECT_EQ(reports[0].dropped, 1u);
  EXPECT_EQ(reports[0].refused, 1u);
}

TEST_F(Progress, without_news_there_is_nothing_to_report) {
  ProgressMeter(options, fit).finish();
  EXPECT_TRUE(reports.empty());
}

}  // namespace
}  // namespace yoke::train
