// Checkpoints, from the request to the announcement, and going on from one.
#include "core/hand_driven.h"

namespace yoke::core {
namespace {

// Both replicas deliver for this version, and every shard makes the next.
void step_of_two(Bench& b, Version version) {
  b.report(b.work(0).gradient, version);
  b.report(b.work(1).gradient, version);
  b.reduce(version + 1);
}

std::vector<std::uint64_t> marks(const Bench& b) {
  std::vector<std::uint64_t> tokens;
  for (const auto& record : b.log)
    if (record.mark) tokens.push_back(record.mark);
  return tokens;
}

TEST(SequencerCheckpointTest, SynchronousOnesAreTakenBetweenTwoSteps) {
  Bench b({.replicas = 2, .shards = 2});
  b.join(0);
  b.join(1);
  b.on(TakeCheckpoint{7});
  b.report(b.work(0).gradient, 0);
  b.report(b.work(1).gradient, 0);
  EXPECT_EQ(marks(b).size(), 0u) << "they work, and the step is not committed";
  EXPECT_TRUE(b.sequencer.checkpointing());
  b.reduce(1);
  ASSERT_EQ(marks(b), std::vector<std::uint64_t>{7});
  EXPECT_EQ(b.log.back().step, 1u);
  EXPECT_TRUE(b.log.back().applied.empty());
  EXPECT_EQ(b.work(0).step, 1u) << "the next step is under way already";
  b.save(7);
  ASSERT_EQ(b.seals.size(), 1u);
  EXPECT_EQ(b.seals[0].sums, (std::vector<std::uint64_t>{7, 8}));
  EXPECT_EQ(b.seals[0].standing, (Standing{1, 100, 2, LedgerStanding{0, 4, {}, {{0, 4}}, 0}, 4, 0}))
      << "nothing was outstanding";
  EXPECT_TRUE(b.announced.empty()) << "nobody can see it yet";
  b.on(Sealed{7});
  ASSERT_EQ(b.announced.size(), 1u);
  EXPECT_EQ(b.announced[0].version, 1u);
  EXPECT_FALSE(b.sequencer.checkpointing());
  b.on(Sealed{7});
  EXPECT_EQ(b.announced.size(), 1u);
}

TEST(SequencerCheckpointTest, AsynchronousOnesAreTakenAtOnceAndWhatIsWorkedOnIsGivenBack) {
  Bench b({.replicas = 3, .async = true});
  for (ReplicaId r : {0u, 1u, 2u}) b.join(r);
  b.on(TakeCheckpoint{7, 1});
  EXPECT_TRUE(marks(b).empty()) << "version 1 was asked for";
  b.report(b.work(1).gradient, 0);
  ASSERT_EQ(marks(b).size(), 1u) << "it is decided, if not committed";
  b.save(7);
  EXPECT_EQ(b.seals.at(0).standing,
            (Standing{1, 100, 2, LedgerStanding{0, 6, {{0, 0, 2}, {0, 4, 6}}, {{0, 2}}, 0}, 2, 0}));
}

TEST(SequencerCheckpointTest, TakenAtTheEndWhenTheVersionIsNeverReached) {
  for (const bool async : {false, true}) {
    Bench b({.replicas = 1, .async = async, .steps = 1});
    b.join(0);
    b.on(TakeCheckpoint{7, 50});
    b.report(b.work(0).gradient, 0);
    b.reduce(1);
    EXPECT_TRUE(b.sequencer.done());
    EXPECT_EQ(marks(b), std::vector<std::uint64_t>{7});
    b.save(7);
    b.on(Sealed{7});
    EXPECT_EQ(b.announced.at(0).version, 1u);
    b.on(TakeCheckpoint{8});
    EXPECT_EQ(marks(b), (std::vector<std::uint64_t>{7, 8})) << "also after the end";
  }
}

TEST(SequencerCheckpointTest, OneIsUnderWayAndTheNewestRequestWaits) {
  Bench b({.replicas = 1, .shards = 2, .async = true});
  b.join(0);
  for (std::uint64_t token : {1u, 2u, 3u}) b.on(TakeCheckpoint{token});
  EXPECT_EQ(marks(b), std::vector<std::uint64_t>{1});
  b.save(2);
  EXPECT_TRUE(b.seals.empty()) << "another's parts";
  b.save(1);
  b.save(1);
  ASSERT_EQ(b.seals.size(), 1u);
  EXPECT_EQ(marks(b).size(), 1u);
  b.on(Sealed{1});
  EXPECT_EQ(marks(b), (std::vector<std::uint64_t>{1, 3}));
}

TEST(SequencerCheckpointTest, AFailedPartDiscardsItAtOnce) {
  Bench b({.replicas = 1, .shards = 2, .async = true});
  b.join(0);
  b.on(TakeCheckpoint{1});
  b.on(TakeCheckpoint{2});
  b.hear(PartSaved{1, 1, false, 0, "no space"});
  ASSERT_EQ(b.discards.size(), 1u);
  EXPECT_EQ(b.discards[0].token, 1u);
  EXPECT_EQ(b.discards[0].reason, "shard 1: no space");
  EXPECT_EQ(marks(b).size(), 1u) << "shard 0 is still writing";
  b.hear(PartSaved{0, 1, false, 0, "no space"});
  b.hear(PartSaved{0, 1});
  EXPECT_EQ(b.discards.size(), 1u);
  EXPECT_TRUE(b.seals.empty());
  EXPECT_EQ(marks(b), (std::vector<std::uint64_t>{1, 2}));
  b.save(2);
  b.on(Sealed{2, false, "it cannot be renamed"});
  EXPECT_EQ(b.discards.at(1).reason, "it cannot be renamed");
  EXPECT_TRUE(b.announced.empty());
  EXPECT_FALSE(b.sequencer.checkpointing());
}

TEST(SequencerCheckpointTest, TheMarkIsSaidAgainUntilEveryShardIsPastIt) {
  Bench b({.replicas = 1, .shards = 2});
  b.join(0);
  b.report(b.work(0).gradient, 0);
  b.on(TakeCheckpoint{7});
  b.reduce(1);
  ASSERT_EQ(marks(b).size(), 1u);
  b.on(Reset{shard_at(0)});
  EXPECT_EQ(marks(b).size(), 2u);
  b.report(b.work(0).gradient, 1);
  b.hear(wire::Reduced{0, 2});
  b.on(Reset{shard_at(0)});
  EXPECT_EQ(marks(b).size(), 3u) << "shard 1 may not have come to it";
  b.hear(wire::Reduced{1, 2});
  b.on(Reset{shard_at(0)});
  EXPECT_EQ(marks(b).size(), 3u);
}

// The same ranges go to the same replicas as if nothing had happened.
TEST(SequencerCheckpointTest, GoesOnFromAStanding) {
  const SequencerOptions options{.replicas = 2, .epochs = 2, .schedule = {.kind = ScheduleOptions::Kind::cosine}};
  Bench b(options);
  b.samples = 6;
  b.join(0);
  b.join(1);
  step_of_two(b, 0);
  b.on(TakeCheckpoint{7});
  b.report(b.work(0).gradient, 1);  // the last range of the epoch
  b.reduce(2);
  b.save(7);
  ASSERT_EQ(b.seals.size(), 1u);

  Bench next(options, b.seals[0].standing);
  EXPECT_EQ(next.sequencer.committed(), 2u);
  EXPECT_EQ(next.sequencer.epochs_counted(), 1u);
  next.samples = 6;
  next.join(0);
  next.join(1);
  EXPECT_EQ(next.sequencer.epochs_counted(), 1u);
  for (ReplicaId r : {0u, 1u}) {
    EXPECT_EQ(next.work(r).step, 2u);
    EXPECT_EQ(next.work(r).range, b.work(r).range);
    EXPECT_EQ(next.work(r).counted, 6u);
    EXPECT_EQ(next.work(r).counted, b.work(r).counted);
  }
  const auto before = b.log.size();
  step_of_two(b, 2);
  step_of_two(next, 2);
  EXPECT_EQ(next.log.at(0).step, 2u);
  EXPECT_EQ(next.log.at(0).rate, b.log.at(before).rate);
  EXPECT_LT(next.log.at(0).rate, 1);
  EXPECT_EQ(next.sequencer.committed(), 3u);
}

TEST(SequencerCheckpointTest, TheDataOfACheckpointHasItsSizeNotItsBatch) {
  const Standing standing{3, 6, 2, LedgerStanding{0, 4, {}, {{0, 4}}, 0}, 4, 0};
  Bench b({.replicas = 1}, standing);
  b.samples = 7;
  b.join(0);
  ASSERT_EQ(b.turned.size(), 1u);
  EXPECT_EQ(b.turned[0].reason,
            "replica 0 has 7 samples, and the checkpoint was made with 6 samples: go on with the same data, or begin "
            "anew");
  b.samples = 6;
  b.batch = 1;
  b.join(0, 2);
  EXPECT_EQ(b.work(0).range, (Range{0, 4, 5}));
}

TEST(SequencerCheckpointTest, ATrainingThatWasOverIsOver) {
  Bench b({.replicas = 1, .epochs = 1}, Standing{3, 6, 2, LedgerStanding{0, 6, {}, {}, 1}, 6, 0});
  b.samples = 6;
  b.join(0);
  EXPECT_TRUE(b.assigned.empty());
  EXPECT_EQ(b.done.at(0).version, 3u);
}

TEST(SequencerCheckpointTest, AnAssignmentSaysWhatHadCountedAlsoWhenSaidAgain) {
  Bench b({.replicas = 2});
  b.join(0);
  b.join(1);
  EXPECT_EQ(b.work(0).counted, 0u);
  step_of_two(b, 0);
  EXPECT_EQ(b.work(0).counted, 4u);
  EXPECT_EQ(b.work(1).counted, 4u);
  const auto said = b.assigned.size();
  b.join(1);
  ASSERT_EQ(b.assigned.size(), said + 1);
  EXPECT_EQ(b.assigned.back().counted, 4u);
}

}  // namespace
}  // namespace yoke::core
