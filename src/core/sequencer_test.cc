// Scenarios, driven by hand: what the sequencer decides and says.
#include "core/hand_driven.h"

namespace yoke::core {
namespace {

TEST(SequencerTest, WaitsForEverybodyThenHandsOut) {
  Bench b({.replicas = 2});
  b.join(0);
  EXPECT_TRUE(b.assigned.empty());
  EXPECT_EQ(b.sequencer.waiting_for(), "replicas to join (1 of 2 are there)");
  b.join(1);
  ASSERT_EQ(b.assigned.size(), 2u);
  EXPECT_EQ(b.work(0).range, (Range{0, 0, 2}));
  EXPECT_EQ(b.work(1).range, (Range{0, 2, 4}));
  EXPECT_EQ(b.sequencer.waiting_for(), "replica 0 (step 0), replica 1 (step 0)");
}

TEST(SequencerTest, AFastReplicaDoesNotCountTwice) {
  Bench b({.replicas = 3, .spares = 1, .shards = 2});
  for (ReplicaId r : {0u, 1u, 2u}) b.join(r);
  const auto fast = b.work(1).gradient;
  for (int again = 0; again < 3; ++again) b.report(fast, 0);
  EXPECT_TRUE(b.log.empty()) << "one replica is not a quorum of two, however often it is reported";
  b.report(b.work(2).gradient, 0);
  ASSERT_EQ(b.log.size(), 1u);
  ASSERT_EQ(b.log[0].applied.size(), 2u);
  EXPECT_EQ(b.log[0].applied[0].gradient, fast);
  EXPECT_EQ(b.log[0].applied[1].gradient.life.replica, 2u);
  EXPECT_DOUBLE_EQ(b.log[0].applied[0].weight, 0.5);
}

TEST(SequencerTest, ALoserIsToldAndItsRangeIsHandedOutFirst) {
  Bench b({.replicas = 3, .spares = 1});
  for (ReplicaId r : {0u, 1u, 2u}) b.join(r);
  const auto lost = b.work(0);
  b.report(b.work(1).gradient, 0);
  b.report(b.work(2).gradient, 0);
  ASSERT_EQ(b.settled.size(), 1u);
  EXPECT_EQ(b.settled[0].gradient, lost.gradient);
  EXPECT_EQ(b.settled[0].fate, Fate::dropped);
  b.reduce(1);
  EXPECT_EQ(b.sequencer.committed(), 1u);
  EXPECT_EQ(b.settled.size(), 3u);
  EXPECT_EQ(b.work(1).range, lost.range) << "winners choose first, and the returned range comes first";
  EXPECT_EQ(b.work(1).step, 1u);
}

TEST(SequencerTest, ARefusedGradientIsWorkedOnAgainWithinTheStep) {
  Bench b({.replicas = 2, .max_refusals = 2});
  b.join(0);
  b.join(1);
  const auto bad = b.work(0);
  b.report(bad.gradient, 0, false);
  ASSERT_EQ(b.settled.size(), 1u);
  EXPECT_EQ(b.settled[0].fate, Fate::refused);
  EXPECT_EQ(b.settled[0].reason, "NaN");
  EXPECT_NE(b.work(0).gradient, bad.gradient);
  EXPECT_EQ(b.work(0).range, bad.range) << "the only range that came back";
  b.report(bad.gradient, 0);
  EXPECT_EQ(b.log.size(), 1u) << "what was refused stays so";

  b.report(b.work(0).gradient, 0, false);
  ASSERT_EQ(b.turned.size(), 1u) << "struck off";
  EXPECT_EQ(b.sequencer.count_alive(), 1u);
  b.join(0);
  EXPECT_EQ(b.turned.size(), 2u) << "that life does not come back";
}

TEST(SequencerTest, ADeadReplicasSamplesGoBackAndTheStepIsDegraded) {
  Bench b({.replicas = 2});
  b.join(0);
  b.join(1);
  const auto lost = b.work(1);
  b.report(b.work(0).gradient, 0);
  EXPECT_TRUE(b.log.empty());
  b.on(Down{{1, 1}, "unplugged"});
  ASSERT_EQ(b.log.size(), 2u);
  EXPECT_EQ(b.log[0].turned_away.at(0).gradient, lost.gradient);
  EXPECT_TRUE(b.log[1].degraded);
  EXPECT_EQ(b.log[1].quorum, 1u);
  b.reduce(1);
  EXPECT_EQ(b.work(0).range, lost.range);
}

TEST(SequencerTest, AWholeGradientOutlivesItsReplica) {
  Bench b({.replicas = 2});
  b.join(0);
  b.join(1);
  const auto whole = b.work(1).gradient;
  b.report(whole, 0);
  b.join(1, 2);
  EXPECT_EQ(b.fences.back(), (Life{1, 2}));
  EXPECT_EQ(b.work(1).gradient, whole) << "one replica, one gradient a step";
  b.report(b.work(0).gradient, 0);
  ASSERT_EQ(b.log.size(), 1u);
  EXPECT_EQ(b.log[0].applied.size(), 2u);
  EXPECT_FALSE(b.log[0].degraded);
  b.reduce(1);
  EXPECT_EQ(b.work(1).gradient, (GradientId{{1, 2}, 1}));
}

TEST(SequencerTest, ANewLifeTakesThePlaceOfTheFormer) {
  Bench b({.replicas = 2});
  b.join(0);
  b.join(1);
  const auto former = b.work(1);
  b.join(1, 2);
  ASSERT_EQ(b.log.size(), 1u);
  EXPECT_EQ(b.log[0].turned_away.at(0).gradient, former.gradient);
  EXPECT_EQ(b.work(1).gradient, (GradientId{{1, 2}, 1}));
  EXPECT_EQ(b.work(1).range, former.range);
  b.report(former.gradient, 0);
  EXPECT_EQ(b.log.size(), 1u);
  b.join(1, 1);
  ASSERT_EQ(b.turned.size(), 1u);
  EXPECT_EQ(b.turned[0].life, (Life{1, 1}));
}

TEST(SequencerTest, SaysAgainWhatMayHaveBeenLost) {
  Bench b({.replicas = 1});
  b.join(0);
  b.join(0);
  ASSERT_EQ(b.assigned.size(), 2u);
  EXPECT_EQ(b.assigned[0].gradient, b.assigned[1].gradient);
  b.report(b.work(0).gradient, 0);
  b.on(Reset{shard_at(0)});
  ASSERT_EQ(b.log.size(), 2u);
  EXPECT_EQ(b.log[0].index, b.log[1].index);
}

TEST(SequencerTest, OtherDataIsTurnedAway) {
  Bench b({.replicas = 2});
  b.join(0);
  b.samples = 99;
  b.join(1);
  ASSERT_EQ(b.turned.size(), 1u);
  EXPECT_NE(b.turned[0].reason.find("99 samples"), std::string::npos);
  EXPECT_EQ(b.sequencer.count_alive(), 1u);
}

TEST(SequencerTest, AsynchronousGradientsAreAppliedAsTheyComeOrDropped) {
  Bench b({.replicas = 3, .async = true, .stale = {.policy = Stale::scale_inverse, .max_staleness = 1}});
  for (ReplicaId r : {0u, 1u, 2u}) b.join(r);
  for (ReplicaId r : {2u, 0u, 1u}) b.report(b.work(r).gradient, 0);
  ASSERT_EQ(b.log.size(), 3u);
  EXPECT_EQ(b.log[0].applied.at(0).weight, 1);
  EXPECT_EQ(b.log[1].applied.at(0).staleness, 1u);
  EXPECT_EQ(b.log[1].applied.at(0).weight, 0.5);
  EXPECT_EQ(b.log[2].turned_away.at(0).staleness, 2u);
}

TEST(SequencerTest, TheFastestWaitsForTheSlowest) {
  Bench b({.replicas = 2, .async = true, .stale = {.max_lead = 2}});
  b.join(0);
  b.join(1);
  for (Version v = 0; v < 2; ++v) {
    b.report(b.work(0).gradient, v);
    b.reduce(v + 1);
  }
  EXPECT_EQ(b.work(0).gradient.sequence, 2u) << "two ahead: it waits";
  b.on(Down{{1, 1}, "gone"});
  EXPECT_EQ(b.work(0).gradient.sequence, 3u) << "the dead are not waited for";
}

TEST(SequencerTest, TheWarmUpIsOfOneAndNobodyIsBehindAfterwards) {
  Bench b({.replicas = 2, .async = true, .warmup_steps = 3, .stale = {.max_lead = 1}});
  b.join(0);
  b.join(1);
  for (Version v = 0; v < 3; ++v) {
    ASSERT_EQ(b.assigned.size(), v + 1);
    b.report(b.work(0).gradient, v);
    b.reduce(v + 1);
  }
  EXPECT_EQ(b.work(0).gradient.sequence, 4u);
  EXPECT_EQ(b.work(1).gradient.sequence, 1u);
}

TEST(SequencerTest, EverybodyTakesPartIfOnlyWithNothing) {
  Bench b({.replicas = 2, .everybody = true});
  b.samples = 2;
  b.join(0);
  b.join(1);
  ASSERT_EQ(b.work(0).range, (Range{0, 0, 2}));
  ASSERT_EQ(b.work(1).range->size(), 0u);
  b.report(b.work(1).gradient, 0);
  EXPECT_TRUE(b.log.empty());
  b.on(Down{{0, 1}, "gone"});
  ASSERT_EQ(b.log.size(), 2u) << "nobody who is left has samples: the step is formed again";
  EXPECT_TRUE(b.log[1].applied.empty());
  EXPECT_EQ(b.work(1).range, (Range{0, 0, 2}));
  b.report(b.work(1).gradient, 0);
  EXPECT_EQ(b.log.at(2).applied.at(0).weight, 1);
}

TEST(SequencerTest, ClipsByTheNormOverAllShards) {
  Bench b({.replicas = 1, .shards = 2, .clip_norm = 1});
  b.join(0);
  b.report(b.work(0).gradient, 0);
  ASSERT_TRUE(b.log.at(0).clip);
  b.hear(wire::Measured{0, 0, 9});
  EXPECT_TRUE(b.scales.empty());
  b.hear(wire::Measured{1, 0, 16});
  ASSERT_EQ(b.scales.size(), 1u);
  EXPECT_NEAR(b.scales[0].factor, 0.2, 1e-6);
}

TEST(SequencerTest, EndsWhenEverySampleHasCountedOrTheStepsAreMade) {
  Bench epochs({.replicas = 2, .epochs = 1});
  epochs.samples = 6;
  epochs.join(0);
  epochs.join(1);
  epochs.report(epochs.work(0).gradient, 0);
  epochs.report(epochs.work(1).gradient, 0);
  epochs.reduce(1);
  epochs.report(epochs.work(0).gradient, 1);
  ASSERT_EQ(epochs.log.size(), 2u) << "the last range alone makes the last step";
  EXPECT_FALSE(epochs.log[1].degraded);
  epochs.reduce(2);
  EXPECT_EQ(epochs.done.size(), 2u);

  Bench steps({.replicas = 2, .async = true, .steps = 1});
  steps.join(0);
  steps.join(1);
  steps.report(steps.work(0).gradient, 0);
  steps.report(steps.work(1).gradient, 0);
  steps.reduce(1);
  EXPECT_TRUE(steps.sequencer.done());
  ASSERT_EQ(steps.log.size(), 2u);
  EXPECT_EQ(steps.log[1].turned_away.size(), 1u) << "what came too late is turned away, not forgotten";
  EXPECT_EQ(steps.settled.size(), 2u) << "and told so";
  steps.join(1, 2);
  EXPECT_EQ(steps.done.size(), 3u) << "who joins now is told";
}

TEST(SequencerTest, StopsAfterWhatIsDecided) {
  SequencerOptions options;
  options.replicas = 2;
  Bench bench(options);
  bench.join(0);
  bench.join(1);
  bench.report(bench.work(0).gradient, 0);
  bench.report(bench.work(1).gradient, 0);
  ASSERT_EQ(bench.log.size(), 1u);  // decided, not committed
  bench.on(Stop{"enough"});
  EXPECT_FALSE(bench.sequencer.done());
  bench.reduce(1);
  EXPECT_TRUE(bench.sequencer.done());
  EXPECT_EQ(bench.sequencer.committed(), 1u);
  EXPECT_EQ(bench.sequencer.stopped(), "enough");
  EXPECT_EQ(bench.assigned.size(), 2u);  // nobody got new work
  EXPECT_EQ(bench.done.size(), 2u);
}

TEST(SequencerTest, AStopTurnsAwayWhatIsUnderWay) {
  for (const bool async : {false, true}) {
    SequencerOptions options;
    options.replicas = 2;
    options.async = async;
    Bench bench(options);
    bench.join(0);
    bench.join(1);
    const auto open = bench.work(0).gradient;
    bench.on(Stop{"enough"});
    EXPECT_TRUE(bench.sequencer.done());
    bench.report(open, 0);  // too late
    EXPECT_EQ(bench.sequencer.committed(), 0u);
    ASSERT_EQ(bench.settled.size(), 2u);
    EXPECT_EQ(bench.settled[0].fate, Fate::dropped);
    EXPECT_EQ(bench.done.size(), 2u);
  }
}

TEST(SequencerTest, AStopAfterTheEndMeansNothing) {
  SequencerOptions options;
  options.steps = 1;
  Bench bench(options);
  bench.join(0);
  bench.report(bench.work(0).gradient, 0);
  bench.reduce(1);
  ASSERT_TRUE(bench.sequencer.done());
  bench.on(Stop{"enough"});
  EXPECT_EQ(bench.sequencer.stopped(), "");
}

}  // namespace
}  // namespace yoke::core
