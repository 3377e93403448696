#include "history/story.h"

namespace yoke::history {
namespace {

TEST(CheckerTest, GoodHistoriesAreGood) {
  expect_clean(sync_story());
  expect_clean(async_story());
  expect_clean(lost_story());
}

TEST(CheckerTest, TermsComeFirst) { EXPECT_FALSE(check({}).empty()); }

TEST(CheckerTest, TermsComeOnce) {
  auto s = sync_story();
  s.add(Terms{});
  expect_found(s, "more than one set of terms");
}

TEST(CheckerTest, SamplesCountOnce) {
  auto s = async_story();
  s.find<Assigned>(1).assign.range->begin = s.find<Decided>(1).record.applied[0].range->begin = 0;
  s.find<Assigned>(1).assign.range->end = s.find<Decided>(1).record.applied[0].range->end = 2;
  expect_found(s, "sample 0 of epoch 0 counted twice");
  expect_found(s, "sample 2 of epoch 0 never counted");
}

TEST(CheckerTest, EveryEpochIsWhole) {
  auto s = async_story();
  s.terms.options.epochs = 2;
  expect_found(s, "sample 0 of epoch 1 never counted");
  s.terms.options.steps = 2;
  expect_clean(s);
}

TEST(CheckerTest, NothingStaysUndecided) {
  auto s = async_story();
  const auto at = s.events.end() - 1;
  s.events.insert(at, Event{Time(0), Assigned{{gradient(0, 2), 2, wire::Range{0, 0, 2}}}});
  expect_found(s, "gradient 2 of replica 0 (life 1) was never decided");
}

TEST(CheckerTest, OneThatWasStoppedMayLeaveSamplesOut) {
  auto s = sync_story();
  s.terms.options.epochs = 2;
  expect_found(s, "never counted");
  s.events.insert(s.events.begin() + 1, Event{Time(0), Stopped{"enough"}});
  expect_clean(s);
}

}  // namespace
}  // namespace yoke::history
