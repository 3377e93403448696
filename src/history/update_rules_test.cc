#include "history/story.h"

namespace yoke::history {
namespace {

TEST(UpdateRulesTest, AReplicaCountsOnce) {
  auto s = sync_story();
  auto& record = s.find<Decided>().record;
  record.applied[1] = record.applied[0];
  expect_found(s, "counts replica 0 twice");
}

TEST(UpdateRulesTest, AsManyAsTheQuorum) {
  auto s = sync_story();
  s.find<Decided>().record.quorum = 1;
  expect_found(s, "made of 2 gradients, its quorum is 1");
}

TEST(UpdateRulesTest, AQuorumIsNotSmallWithoutAReason) {
  auto s = sync_story();
  auto& record = s.find<Decided>().record;
  record.applied.pop_back();
  record.applied[0].weight = 1;
  record.quorum = 1;
  expect_found(s, "made of 1 gradients instead of 2");
}

TEST(UpdateRulesTest, ASmallQuorumIsRightWhenTheEpochEnds) {
  Story s;
  const auto a = gradient(0);
  s.terms.samples = 2;
  s.join(0);
  s.join(1);
  s.assign(a, 0, 0);
  s.work(a, 0);
  s.decide(0, {s.part(a, 0, 0, 1, 0)});
  s.make(1, {{a, 1}});
  s.show(1);
  s.add(Finished{1});
  expect_clean(s);
  s.terms.samples = 4;
  expect_found(s, "made of 1 gradients instead of 2");
}

TEST(UpdateRulesTest, EverybodyTakesPartIfOnlyWithNothing) {
  Story s;
  const auto a = gradient(0), b = gradient(1);
  s.terms.options.everybody = true;
  s.terms.samples = 2;
  s.join(0);
  s.join(1);
  s.assign(a, 0, 0);
  s.add(Assigned{{b, 0, wire::Range{0, 0, 0}}});
  s.work(a, 0);
  s.work(b, 0);
  s.decide(0, {s.part(a, 0, 0, 1, 0), {b, 0, 0, 0, 0, wire::Range{0, 0, 0}}});
  s.make(1, {{a, 1}});
  s.show(1);
  s.add(Finished{1});
  expect_clean(s);
  auto t = s;
  t.terms.options.everybody = false;
  expect_found(t, "counts samples 0..0 of epoch 0, which do not exist");
  auto& record = s.find<Decided>().record;
  record.applied.pop_back();
  record.quorum = 1;
  expect_found(s, "made of 1 gradients instead of 2");
}

TEST(UpdateRulesTest, DegradedMeansThatReplicasAreGone) {
  auto s = sync_story();
  s.find<Decided>().record.degraded = true;
  expect_found(s, "called degraded with 2 of 2 alive");

  Story t;
  const auto a = gradient(0);
  t.terms.options.steps = 1;
  t.join(0);
  t.join(1);
  t.add(Left{{1, 1}, "gone"});
  t.assign(a, 0, 0);
  t.work(a, 0);
  t.decide(0, {t.part(a, 0, 0, 1, 0)}).degraded = true;
  t.make(1, {{a, 1}});
  t.show(1);
  t.add(Finished{1});
  expect_clean(t);
  t.find<Decided>().record.degraded = false;
  expect_found(t, "made of 1 gradients instead of 2");
}

TEST(UpdateRulesTest, TooFewDecideNothing) {
  auto s = sync_story();
  s.terms.options.min_replicas = 2;
  const auto at = std::find_if(s.events.begin(), s.events.end(),
                               [](const auto& event) { return std::holds_alternative<Decided>(event.what); });
  s.events.insert(at, Event{Time(0), Left{{1, 1}, "gone"}});
  expect_found(s, "step 0 was decided with 1 replicas in, at least 2 are needed");
  s.terms.options.min_replicas = 1;
  expect_clean(s);
}

TEST(UpdateRulesTest, GradientsAreFresh) {
  auto s = sync_story();
  s.find<Installed>(1).version = 1;
  expect_found(s, "which is not fresh");
  s.erase<Installed>(1);
  expect_found(s, "had not installed the parameters of every shard");
}

TEST(UpdateRulesTest, DecidedOnlyWhenExamined) {
  auto s = sync_story();
  const auto late = s.find<Examined>();
  s.erase<Examined>();
  s.add(late);
  expect_found(s, "was decided before block 0 of gradient 1 of replica 0 (life 1) was found sound");
}

TEST(UpdateRulesTest, TheRateIsTheSchedules) {
  auto s = async_story();
  s.terms.options.schedule.kind = ScheduleOptions::Kind::cosine;
  expect_found(s, "step 1 has rate 1, the schedule says 0.5 after 2 samples");
  s.find<Decided>(1).record.rate = s.find<Made>(2).rate = s.find<Made>(3).rate = 0.5;
  expect_clean(s);
}

TEST(UpdateRulesTest, StalenessIsTrueAndBounded) {
  auto s = async_story();
  s.find<Decided>(1).record.applied[0].staleness = 0;
  expect_found(s, "it is 1, on version 0");
  auto t = async_story();
  t.terms.options.stale.max_staleness = 0;
  expect_found(t, "1 versions stale, more than the 0 allowed");
  auto u = async_story();
  u.terms.options.stale.policy = Stale::scale_inverse;
  expect_found(u, "weight 1 at staleness 1");
}

}  // namespace
}  // namespace yoke::history
