// Scenarios, driven by hand: what a shard makes of pushes and records.
#include "core/shard.h"

#include <gtest/gtest.h>

#include "core/shard_fixture.h"

namespace yoke::core {
namespace {

struct ShardBench : DrivenShard {
  explicit ShardBench(Version committed = 0, bool twin = false) : DrivenShard(plan_of_two(true), committed, twin) {}
  // Both blocks arrive, with tickets `ticket` and `ticket + 1`, and are found sound.
  void deliver(const GradientId& gradient, Ticket ticket) {
    for (BlockId block : {0u, 1u}) hear<Verify>(Push{gradient, 0, block, ticket + block, 2});
    for (BlockId block : {0u, 1u}) on<Report>(Verified{ticket + block, true, 1});
  }
};

TEST(ShardTest, ReportsWhenEveryBlockIsSound) {
  ShardBench b;
  EXPECT_EQ(b.hear<Verify>(Push{kA, 3, 0, 10, 2}).size(), 1u);
  EXPECT_EQ(b.hear<Report>(Push{kA, 2, 1, 11, 2}).size(), 0u);
  EXPECT_EQ(b.on<Report>(Verified{11, true, 4}).size(), 0u);
  const auto reports = b.on<Report>(Verified{10, true, 5});
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_TRUE(reports[0].ok);
  EXPECT_EQ(reports[0].base, 2u) << "the oldest version of any block";
  EXPECT_EQ(reports[0].sum_squares, 9);
}

TEST(ShardTest, ADamagedBlockIsRefusedAndLetGoOfWhenTheLogSaysSo) {
  ShardBench b;
  b.hear<Verify>(Push{kA, 0, 0, 10, 2});
  b.hear<Verify>(Push{kA, 0, 1, 11, 2});
  const auto reports = b.on<Report>(Verified{10, false, 0, "NaN"});
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_FALSE(reports[0].ok);
  EXPECT_EQ(b.on<Report>(Verified{11, true, 1}).size(), 0u);
  const auto released = b.hear<Release>(Record{.turned_away = {{kA, Fate::refused}}});
  EXPECT_EQ(released.size(), 2u);
  EXPECT_EQ(b.hear<Release>(Push{kA, 0, 0, 12, 2}).size(), 1u) << "it is settled";
}

TEST(ShardTest, ABlockThatComesTwiceIsLetGoOfAtOnce) {
  ShardBench b;
  b.hear<Verify>(Push{kA, 0, 0, 10, 2});
  const auto released = b.hear<Release>(Push{kA, 0, 0, 11, 2});
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].ticket, 11u);
}

TEST(ShardTest, MakesAndShowsAVersionOnce) {
  ShardBench b;
  b.deliver(kA, 10);
  b.deliver(kB, 20);
  const auto record = record_of({kA, kB});
  const auto reduces = b.hear<Reduce>(record);
  ASSERT_EQ(reduces.size(), 2u);
  ASSERT_EQ(reduces[0].shares.size(), 2u);
  EXPECT_EQ(reduces[0].shares[0].ticket, 10u);
  EXPECT_EQ(reduces[0].shares[1].ticket, 20u);
  EXPECT_TRUE(b.hear<Reduce>(record).empty()) << "the record again";
  EXPECT_TRUE(b.on<wire::Reduced>(BlockReduced{0, 1}).empty());
  EXPECT_EQ(b.on<wire::Reduced>(BlockReduced{1, 1}).size(), 1u);
  EXPECT_EQ(b.all<Release>().size(), 4u);
  EXPECT_EQ(b.shard.committed(), 0u);
  EXPECT_EQ(b.hear<Publish>(Commit{1}).size(), 1u);
  EXPECT_TRUE(b.hear<Publish>(Commit{1}).empty());
}

TEST(ShardTest, RecordsAreAppliedInOrder) {
  ShardBench b;
  b.deliver(kA, 10);
  EXPECT_TRUE(b.hear<Reduce>(record_of({kA}, 1)).empty());
  EXPECT_EQ(b.hear<Reduce>(Record{.index = 0, .turned_away = {{kB, Fate::dropped}}}).size(), 2u);
}

TEST(ShardTest, AbsentBlocksCountAsZeroAndAbsentBuffersDoNotCount) {
  ShardBench b;
  b.deliver(kA, 10);
  for (BlockId block : {0u, 1u}) b.hear<Report>(Push{kB, 0, block, 0, 2});
  EXPECT_EQ(b.all<Report>().size(), 1u) << "absent everywhere is complete";
  const auto reduces = b.hear<Reduce>(record_of({kA, kB}));
  ASSERT_EQ(reduces.size(), 2u);
  ASSERT_EQ(reduces[0].shares.size(), 1u);
  EXPECT_EQ(reduces[0].shares[0].weight, 0.5);
  EXPECT_EQ(reduces[1].shares.at(0).weight, 1) << "the rest make up the mean";
}

TEST(ShardTest, WhoHadNoSamplesHasNothingToAdd) {
  ShardBench b;
  for (BlockId block : {0u, 1u}) b.hear<Report>(Push{kA, 0, block, 0, 2});
  b.deliver(kB, 20);
  auto record = record_of({kA, kB});
  record.applied[0].weight = 1;
  record.applied[1].weight = 0;
  const auto reduces = b.hear<Reduce>(record);
  ASSERT_EQ(reduces.size(), 2u);
  for (const auto& reduce : reduces) EXPECT_TRUE(reduce.shares.empty()) << "it is carried over, not divided by nothing";
}

TEST(ShardTest, ClippingWaitsForTheScaleAndSparesBuffers) {
  ShardBench b;
  b.deliver(kA, 10);
  auto record = record_of({kA});
  record.clip = true;
  ASSERT_EQ(b.hear<Measure>(record).size(), 1u) << "buffers have no part in the norm";
  EXPECT_TRUE(b.all<Reduce>().empty());
  const auto measured = b.on<wire::Measured>(BlockMeasured{0, 0, 25});
  ASSERT_EQ(measured.size(), 1u);
  EXPECT_EQ(measured[0].sum_squares, 25);
  const auto reduces = b.hear<Reduce>(Scale{0, 0.2});
  ASSERT_EQ(reduces.size(), 2u);
  EXPECT_EQ(reduces[0].scale, 0.2);
  EXPECT_EQ(reduces[1].scale, 1);
}

TEST(ShardTest, OlderLivesAreNotHeard) {
  ShardBench b;
  const GradientId old_life{{0, 1}, 1}, new_life{{0, 2}, 1};
  b.hear<Verify>(Push{old_life, 0, 0, 10, 2});
  b.on<Release>(Verified{10, true, 1});
  EXPECT_EQ(b.hear<Release>(Fence{new_life.life}).size(), 1u) << "what was unfinished never will be";
  EXPECT_EQ(b.hear<Release>(Push{old_life, 0, 1, 11, 2}).size(), 1u);
  EXPECT_EQ(b.hear<Verify>(Push{new_life, 0, 0, 12, 2}).size(), 1u);
}

TEST(ShardTest, AWholeGradientOfAnOlderLifeStands) {
  ShardBench b;
  b.deliver(kA, 10);
  EXPECT_TRUE(b.hear<Release>(Fence{{0, 2}}).empty());
  EXPECT_EQ(b.hear<Reduce>(record_of({kA})).at(0).shares.size(), 1u);
}

TEST(ShardTest, APullIsAnsweredWhenTheVersionIsThere) {
  ShardBench b;
  EXPECT_EQ(b.hear<Parameters>(Pull{{0, 1}, 0}).size(), 1u);
  EXPECT_TRUE(b.hear<Parameters>(Pull{{0, 2}, 1}).empty());
  EXPECT_TRUE(b.hear<Parameters>(Pull{{0, 1}, 1}).empty()) << "a former life's, late, does not take the place of it";
  b.deliver({{0, 2}, 1}, 10);
  b.hear<Reduce>(record_of({{{0, 2}, 1}}));
  for (BlockId block : {0u, 1u}) b.on<Release>(BlockReduced{block, 1});
  const auto answers = b.hear<Parameters>(Commit{1});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].life, (Life{0, 2}));
  EXPECT_EQ(answers[0].version, 1u);
}

TEST(ShardTest, CapturesAtTheMarkWhenAllBeforeItIsShown) {
  ShardBench b;
  b.deliver(kA, 10);
  b.hear<Reduce>(record_of({kA}));
  EXPECT_TRUE(b.hear<Capture>(Record{.index = 1, .step = 1, .mark = 7}).empty()) << "version 1 is being made";
  for (BlockId block : {0u, 1u}) b.on<Release>(BlockReduced{block, 1});
  EXPECT_TRUE(b.all<Capture>().empty()) << "and is not shown";
  const auto captures = b.hear<Capture>(Commit{1});
  ASSERT_EQ(captures.size(), 1u);
  EXPECT_EQ(captures[0].token, 7u);
  EXPECT_EQ(captures[0].version, 1u);
  EXPECT_TRUE(b.hear<Capture>(Record{.index = 1, .step = 1, .mark = 7}).empty()) << "the record again";
}

TEST(ShardTest, SaysThatItsPartIsSavedUntilALaterMark) {
  ShardBench b;
  b.hear<Capture>(Record{.index = 0, .mark = 7});
  EXPECT_TRUE(b.on<PartSaved>(Reset{kSequencer}).empty()) << "it is not";
  for (const auto& said : {b.on<PartSaved>(Captured{7, true, 99}), b.on<PartSaved>(Reset{kSequencer})}) {
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].token, 7u);
    EXPECT_EQ(said[0].sum, 99u);
  }
  b.hear<Capture>(Record{.index = 1, .mark = 8});
  EXPECT_TRUE(b.on<PartSaved>(Reset{kSequencer}).empty());
  const auto failed = b.on<PartSaved>(Captured{8, false, 0, "no space"});
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_FALSE(failed[0].ok);
  EXPECT_EQ(failed[0].reason, "no space");
}

TEST(ShardTest, GoesOnFromAVersion) {
  ShardBench b(5);
  const auto answers = b.hear<Parameters>(Pull{{0, 1}, 5});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].version, 5u);
  b.deliver(kA, 10);
  auto record = record_of({kA});
  record.step = 5;
  EXPECT_EQ(b.hear<Reduce>(record).at(0).step, 5u);
  for (BlockId block : {0u, 1u}) b.on<Release>(BlockReduced{block, 6});
  EXPECT_EQ(b.hear<Publish>(Commit{6}).at(0).version, 6u);
}

TEST(ShardTest, TellsOfAVersionWhenItsTwinHasIt) {
  ShardBench b(0, true);
  b.deliver(kA, 10);
  auto record = record_of({kA});
  record.standing = Standing{.version = 1, .samples = 7};
  b.hear<Reduce>(record);
  EXPECT_TRUE(b.on<Mirror>(BlockReduced{0, 1}).empty());
  EXPECT_FALSE(b.shard.made_next());
  const auto mirrors = b.on<Mirror>(BlockReduced{1, 1});
  ASSERT_EQ(mirrors.size(), 1u);
  EXPECT_EQ(mirrors[0].version, 1u);
  EXPECT_TRUE(b.all<wire::Reduced>().empty());
  EXPECT_EQ(b.all<Release>().size(), 2u) << "the gradient is used up";
  EXPECT_TRUE(b.shard.made_next());
  EXPECT_EQ(b.shard.standing_next(), record.standing);
  const auto reduced = b.on<wire::Reduced>(Mirrored{1});
  ASSERT_EQ(reduced.size(), 1u);
  EXPECT_EQ(reduced[0].version, 1u);
  EXPECT_TRUE(b.all<Publish>().empty());
  EXPECT_EQ(b.hear<Publish>(Commit{1}).size(), 1u);
  EXPECT_FALSE(b.shard.made_next());
}

TEST(ShardTest, WithoutATwinNothingIsMirrored) {
  ShardBench b;
  b.deliver(kA, 10);
  b.hear<Reduce>(record_of({kA}));
  b.on<Mirror>(BlockReduced{0, 1});
  EXPECT_TRUE(b.on<Mirror>(BlockReduced{1, 1}).empty());
  EXPECT_EQ(b.all<wire::Reduced>().size(), 1u);
}

TEST(ShardTest, WhatTheTwinSaysTwiceOrOfAnotherVersionIsPassedOver) {
  ShardBench b(5, true);
  EXPECT_TRUE(b.on<wire::Reduced>(Mirrored{6}).empty()) << "nothing is being made";
  b.deliver(kA, 10);
  auto record = record_of({kA});
  record.step = 5;
  b.hear<Reduce>(record);
  b.on<Mirror>(BlockReduced{0, 6});
  EXPECT_TRUE(b.on<wire::Reduced>(Mirrored{6}).empty()) << "it is not made yet";
  b.on<Mirror>(BlockReduced{1, 6});
  for (const Version other : {5u, 7u}) EXPECT_TRUE(b.on<wire::Reduced>(Mirrored{other}).empty());
  EXPECT_EQ(b.on<wire::Reduced>(Mirrored{6}).size(), 1u);
  EXPECT_TRUE(b.on<wire::Reduced>(Mirrored{6}).empty()) << "once";
  b.hear<Publish>(Commit{6});
  EXPECT_TRUE(b.on<wire::Reduced>(Mirrored{6}).empty()) << "late";
}

TEST(ShardTest, SaysAgainOnlyWhatItsTwinHas) {
  ShardBench b(5, true);
  b.deliver(kA, 10);
  auto record = record_of({kA});
  record.step = 5;
  b.hear<Reduce>(record);
  for (BlockId block : {0u, 1u}) b.on<Release>(BlockReduced{block, 6});
  const auto before = b.on<wire::Reduced>(Reset{kSequencer});
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].version, 5u);
  b.on<wire::Reduced>(Mirrored{6});
  const auto after = b.on<wire::Reduced>(Reset{kSequencer});
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].version, 6u);
}

TEST(ShardTest, SaysAgainWhatTheSequencerMayHaveMissed) {
  ShardBench b;
  b.deliver(kA, 10);
  b.deliver(kB, 20);
  EXPECT_EQ(b.on<Report>(Reset{kSequencer}).size(), 2u);
  b.hear<Reduce>(record_of({kA, kB}));
  for (BlockId block : {0u, 1u}) b.on<Release>(BlockReduced{block, 1});
  const auto reduced = b.on<wire::Reduced>(Reset{kSequencer});
  ASSERT_EQ(reduced.size(), 1u);
  EXPECT_EQ(reduced[0].version, 1u);
}

}  // namespace
}  // namespace yoke::core
