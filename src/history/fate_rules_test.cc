#include "history/story.h"

namespace yoke::history {
namespace {

TEST(FateRulesTest, AppliedOnce) {
  auto s = async_story();
  s.find<Decided>(1).record.applied[0] = s.find<Decided>(0).record.applied[0];
  expect_found(s, "gradient 1 of replica 0 (life 1) was applied twice");
}

TEST(FateRulesTest, NotAppliedAndTurnedAway) {
  auto s = async_story();
  s.decide(2, {}, {{gradient(0), Fate::dropped, 2, 2, ""}});
  expect_found(s, "was both applied and dropped");
}

TEST(FateRulesTest, ToldWhatTheLogSays) {
  auto s = async_story();
  s.find<Told>().verdict.fate = Fate::dropped;
  expect_found(s, "was told to be dropped at version 1");
  auto t = async_story();
  t.tell(gradient(1, 2), Fate::applied, 1);
  expect_found(t, "was told to be applied, undecided");
}

TEST(FateRulesTest, NobodyRunsTooFarAhead) {
  auto s = async_story();
  s.terms.options.stale.max_lead = 1;
  s.terms.options.epochs = 9;
  s.erase<Finished>();
  const auto second = std::find_if(s.events.begin(), s.events.end(), [](const auto& event) {
    const auto* told = std::get_if<Told>(&event.what);
    return told && told->verdict.gradient.life.replica == 0;
  });
  s.events.insert(second, Event{Time(0), Assigned{{gradient(0, 2), 1, wire::Range{1, 0, 2}, 4}}});
  expect_found(s, "1 or more ahead of replica 1 with 0");
  s.terms.options.stale.max_lead = 2;
  expect_clean(s);
}

TEST(FateRulesTest, AWarmUpIsOfOne) {
  Story s;
  const auto a = gradient(0), b = gradient(1);
  s.terms.options.warmup_steps = 2;
  s.terms.options.steps = 1;
  s.join(0);
  s.join(1);
  s.assign(a, 0, 0);
  s.work(a, 0);
  s.decide(0, {s.part(a, 0, 0, 1, 0)});
  s.make(1, {{a, 1}});
  s.show(1);
  s.add(Finished{1});
  expect_clean(s);
  s.events.insert(s.events.begin() + 2, Event{Time(0), Assigned{{b, 0, wire::Range{0, 2, 4}}}});
  expect_found(s, "while one was to warm up");
}

TEST(FateRulesTest, ASynchronousEpochBeginsWhenTheOneBeforeHasCounted) {
  auto s = sync_story();
  s.terms.options.steps = 1;
  s.events.insert(s.events.begin() + 2, Event{Time(0), Joined{{2, 1}}});
  s.events.insert(s.events.begin() + 3, Event{Time(0), Assigned{{gradient(2), 0, wire::Range{1, 0, 2}}}});
  expect_found(s, "was assigned in epoch 1 before the one before had counted");
}

TEST(FateRulesTest, WorkGoesToLivesThatAreIn) {
  auto s = sync_story();
  s.erase<Joined>();
  expect_found(s, "was assigned to a life that is not in");
  auto u = sync_story();
  u.find<Assigned>().assign.step = 1;
  expect_found(u, "was assigned for version 1, but 0 was committed");
  auto t = async_story();
  t.find<Assigned>(1).assign.gradient = gradient(0, 2);
  expect_found(t, "was assigned while gradient 1 of replica 0 (life 1) was undecided");
}

TEST(FateRulesTest, NobodyComputesOnAnOlderVersionThanItWasGiven) {
  auto s = lost_story();
  s.find<Installed>(4).version = 0;
  expect_found(s, "was assigned for version 1 and computed on version 0 of shard 0");
}

TEST(FateRulesTest, AnAssignmentSaysWhatHadCounted) {
  auto s = lost_story();
  s.find<Assigned>(2).assign.counted = 3;
  expect_found(s, "was told that 3 samples had counted, it was 4");
}

TEST(FateRulesTest, TooFewGetNoWork) {
  auto s = sync_story();
  s.terms.options.min_replicas = 2;
  expect_clean(s);
  s.events.insert(s.events.begin() + 2, Event{Time(0), Left{{1, 1}, "gone"}});
  expect_found(s, "was assigned with 1 replicas in, at least 2 are needed");
}

TEST(FateRulesTest, LivesBeforeALossAreOver) {
  auto s = lost_story();
  s.erase<Joined>(2);
  expect_found(s, "gradient 1 of replica 0 (life 2) was assigned to a life that is not in");
}

}  // namespace
}  // namespace yoke::history
