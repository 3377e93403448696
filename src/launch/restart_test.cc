#include "launch/restart.h"

#include <gtest/gtest.h>

#include <vector>

namespace yoke::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The pauses, in milliseconds, before the restarts of a replica that ran for so long each time; -1: none any more.
std::vector<long> pauses(const RestartRule& rule, const std::vector<milliseconds>& runs) {
  Restarts restarts(rule);
  std::vector<long> all;
  for (const auto ran : runs) {
    const auto again = restarts.lost(ran);
    all.push_back(again ? again->pause.count() : -1);
    EXPECT_EQ(again ? again->number : all.size(), all.size());
  }
  return all;
}

TEST(Restarts, ThePauseDoublesUpToTheLongest) {
  EXPECT_EQ(pauses({.times = 9}, std::vector<milliseconds>(9, seconds(1))),
            (std::vector<long>{500, 1000, 2000, 4000, 8000, 16'000, 30'000, 30'000, 30'000}));
}

TEST(Restarts, OneThatHasRunLongBeginsAnew) {
  EXPECT_EQ(pauses({.times = 9}, {seconds(0), seconds(9), milliseconds(9'999), seconds(10), seconds(1)}),
            (std::vector<long>{500, 1000, 2000, 500, 1000}));
  EXPECT_EQ(pauses({.times = 9}, std::vector<milliseconds>(4, seconds(3600))), (std::vector<long>{500, 500, 500, 500}));
}

TEST(Restarts, TheyAreUsedUpHoweverLongItRan) {
  EXPECT_EQ(pauses({.times = 2}, std::vector<milliseconds>(4, seconds(3600))), (std::vector<long>{500, 500, -1, -1}));
  EXPECT_EQ(pauses({}, {seconds(0)}), (std::vector<long>{-1}));
}

TEST(Restarts, AVeryLongJobOverflowsNothing) {
  Restarts restarts({.times = 1'000'000});
  for (int i = 0; i < 1'000'000; ++i) ASSERT_LE(restarts.lost(seconds(1))->pause, seconds(30));
  EXPECT_FALSE(restarts.lost(seconds(1)));
  EXPECT_EQ(restarts.used(), 1'000'000u);
}

TEST(Restarts, InWords) {
  EXPECT_EQ(in_words(Restarts::Again{2, milliseconds(1000)}, {.times = 3}), "restart 2 of 3 in 1.0 s");
}

}  // namespace
}  // namespace yoke::launch
