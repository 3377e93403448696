#include "train/stragglers.h"

#include <gtest/gtest.h>

namespace yoke::train {
namespace {

using std::chrono::milliseconds;

Options sync(std::uint32_t replicas, std::uint32_t spares) {
  Options options;
  options.replicas = replicas;
  options.spares = spares;
  return options;
}

void work(Stragglers& stragglers, std::vector<int> times, int rounds = 3) {
  for (int round = 0; round < rounds; ++round)
    for (std::uint32_t i = 0; i < times.size(); ++i) stragglers.add(i, milliseconds(times[i]));
}

TEST(Stragglers, equal_replicas_are_no_news) {
  Stragglers stragglers(sync(4, 1));
  work(stragglers, {20, 22, 19, 35});  // 1.75x is chance
  EXPECT_TRUE(stragglers.news().empty());
}

TEST(Stragglers, the_slow_one_is_named_once_with_what_it_means) {
  Stragglers stragglers(sync(4, 1));
  work(stragglers, {20, 20, 20, 82});
  const auto news = stragglers.news();
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0], "replica 3 is 4.1x slower than the median; with 1 spare it holds nobody up");
  work(stragglers, {20, 20, 20, 90});
  EXPECT_TRUE(stragglers.news().empty());
  work(stragglers, {20, 20, 20, 300}, 20);
  ASSERT_EQ(stragglers.news().size(), 1u);  // much slower than it was said to be
}

TEST(Stragglers, without_a_spare_the_remedy_is_named) {
  for (const auto strategy : {Strategy::sync, Strategy::mirrored}) {
    auto options = sync(3, 0);
    options.strategy = strategy;
    Stragglers stragglers(options);
    work(stragglers, {100, 20, 20});
    const auto news = stragglers.news();
    ASSERT_EQ(news.size(), 1u);
    EXPECT_NE(news[0].find("everybody waits for it"), std::string::npos);
    EXPECT_NE(news[0].find("--spares 1"), std::string::npos);
  }
}

TEST(Stragglers, more_slow_ones_than_spares_hold_everybody_up) {
  Stragglers stragglers(sync(6, 1));
  work(stragglers, {20, 20, 20, 20, 100, 100});
  const auto news = stragglers.news();
  ASSERT_EQ(news.size(), 2u);
  EXPECT_NE(news[0].find("--spares 2"), std::string::npos);
}

TEST(Stragglers, async_speaks_of_age) {
  auto options = sync(3, 0);
  options.strategy = Strategy::async;
  Stragglers stragglers(options);
  work(stragglers, {20, 20, 200});
  ASSERT_EQ(stragglers.news().size(), 1u);
  EXPECT_EQ(stragglers.mean(2), milliseconds(200));
}

TEST(Stragglers, one_piece_of_work_is_no_evidence) {
  Stragglers stragglers(sync(3, 0));
  work(stragglers, {20, 20, 500}, 1);
  EXPECT_TRUE(stragglers.news().empty());
}

}  // namespace
}  // namespace yoke::train
