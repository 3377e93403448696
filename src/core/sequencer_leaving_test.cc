// Replicas that are taken out in good order, and jobs that want a least number of them.
#include "core/hand_driven.h"

namespace yoke::core {
namespace {

TEST(SequencerLeavingTest, WhatADrainedReplicaWorksOnStillCounts) {
  for (const bool async : {false, true}) {
    Bench b({.replicas = 2, .async = async});
    b.join(0);
    b.join(1);
    b.on(Drain{1, "it is wanted elsewhere"});
    EXPECT_TRUE(b.turned.empty());
    b.report(b.work(0).gradient, 0);
    b.report(b.work(1).gradient, 0);
    EXPECT_TRUE(b.turned.empty()) << "it is decided, and not committed";
    b.reduce(async ? 2 : 1);
    ASSERT_EQ(b.turned.size(), 1u);
    EXPECT_EQ(b.turned[0].life, (Life{1, 1}));
    EXPECT_EQ(b.turned[0].reason, "it is wanted elsewhere");
    EXPECT_TRUE(b.turned[0].drained);
    EXPECT_EQ(b.settled.back().gradient.life.replica, 1u);
    EXPECT_EQ(b.settled.back().fate, Fate::applied);
    EXPECT_FALSE(b.sequencer.alive(1));
    EXPECT_EQ(b.work(1).gradient.sequence, 1u) << "nothing more for it";
    EXPECT_EQ(b.work(0).gradient.sequence, 2u);
  }
}

TEST(SequencerLeavingTest, WhoHasNoWorkGoesAtOnce) {
  Bench b({.replicas = 2});
  b.join(1);
  b.on(Drain{0, "not there"});
  EXPECT_EQ(b.sequencer.waiting_for(), "replicas to join (1 of 2 are there)");
  b.on(Drain{1, "enough"});
  EXPECT_EQ(b.turned.size(), 1u);
  b.join(0);
  EXPECT_EQ(b.work(0).step, 0u) << "who was drained is not waited for";
  b.on(Drain{1, "again"});
  EXPECT_EQ(b.turned.size(), 1u);
}

TEST(SequencerLeavingTest, ADrainedReplicaIsToldSoAsOftenAsItAsks) {
  Bench b({.replicas = 2});
  b.join(0);
  b.join(1);
  b.on(Drain{1, "enough"});
  b.report(b.work(1).gradient, 0, false);
  ASSERT_EQ(b.turned.size(), 1u);
  b.join(1);
  ASSERT_EQ(b.turned.size(), 2u);
  EXPECT_TRUE(b.turned[1].drained);
  EXPECT_EQ(b.turned[1].reason, "enough");
  EXPECT_EQ(b.settled.size(), 2u) << "and its last verdict with it";
  b.join(1, 2);
  EXPECT_TRUE(b.sequencer.alive(1)) << "another life is welcome";
  EXPECT_EQ(b.work(1).gradient, (GradientId{{1, 2}, 1}));
}

TEST(SequencerLeavingTest, TheNextOneWarmsUpWhenTheFirstIsDrained) {
  Bench b({.replicas = 2, .everybody = true, .warmup_steps = 3});
  b.samples = 2;
  b.join(0);
  b.join(1);
  b.on(Drain{0, "enough"});
  b.report(b.work(1).gradient, 0);
  b.report(b.work(0).gradient, 0, false);
  EXPECT_EQ(b.turned.size(), 1u);
  EXPECT_EQ(b.work(1).range, (Range{0, 0, 2}));
}

TEST(SequencerLeavingTest, WithTooFewNothingIsDecided) {
  for (const bool async : {false, true}) {
    Bench b({.replicas = 3, .async = async, .min_replicas = 2});
    for (ReplicaId r : {0u, 1u, 2u}) b.join(r);
    const auto whole = b.work(0).gradient;
    b.on(Down{{1, 1}, "gone"});
    b.on(Down{{2, 1}, "gone"});
    EXPECT_EQ(b.sequencer.waiting_for(), "replicas to join: 1 is there, at least 2 are needed (--min-replicas)");
    b.report(whole, 0);
    for (const auto& record : b.log) EXPECT_TRUE(record.applied.empty());
    EXPECT_EQ(b.assigned.size(), 3u);
    b.join(2, 2);
    EXPECT_EQ(b.work(2).gradient.life.incarnation, 2u);
    if (!async) b.report(b.work(2).gradient, 0);
    ASSERT_FALSE(b.log.back().applied.empty());
    EXPECT_EQ(b.log.back().applied[0].gradient, whole) << "what was complete before stands";
    EXPECT_EQ(b.log.back().degraded, !async);
  }
}

TEST(SequencerLeavingTest, WhatWasDecidedIsCommittedByTooFew) {
  Bench b({.replicas = 2, .min_replicas = 2});
  b.join(0);
  b.join(1);
  b.report(b.work(0).gradient, 0);
  b.report(b.work(1).gradient, 0);
  b.on(Down{{1, 1}, "gone"});
  b.reduce(1);
  EXPECT_EQ(b.sequencer.committed(), 1u);
  EXPECT_EQ(b.assigned.size(), 2u);
  b.on(Stop{"enough"});
  EXPECT_TRUE(b.sequencer.done());
}

TEST(SequencerLeavingTest, TooFewMayBeCheckpointedAndMayGo) {
  Bench b({.replicas = 2, .min_replicas = 2});
  b.join(0);
  b.join(1);
  b.on(Down{{1, 1}, "gone"});
  b.on(TakeCheckpoint{7});
  b.save(7);
  ASSERT_EQ(b.seals.size(), 1u);
  EXPECT_EQ(b.seals[0].standing.ledger->returned, (std::vector<Range>{{0, 0, 2}, {0, 2, 4}}));
  b.on(Drain{0, "enough"});
  EXPECT_TRUE(b.turned.empty()) << "it works";
  b.report(b.work(0).gradient, 0);
  EXPECT_EQ(b.turned.size(), 1u) << "its gradient is complete and stands";
}

}  // namespace
}  // namespace yoke::core
