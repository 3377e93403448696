// Scenarios, driven by hand: a shard whose backup comes, is filled, and goes.
#include <gtest/gtest.h>

#include <vector>

#include "core/shard_fixture.h"

namespace yoke::core {
namespace {

using Versions = std::vector<Version>;

// A shard at version 5, whose only replica has delivered as much as the records will ask for.
struct ShardBackupBench {
  explicit ShardBackupBench(bool twin = false) : shard(0, plan, 5, twin) {}

  void on(const Event& event) {
    out.clear();
    shard.on(event, Time(0), out);
  }
  // The versions of the effects of a kind, or of the messages of a kind that were sent.
  template <class T>
  Versions all() const {
    Versions found;
    for (const auto& effect : out) {
      if constexpr (std::is_constructible_v<Effect, T>) {
        if (const auto* e = std::get_if<T>(&effect)) found.push_back(e->version);
      } else if (const auto* send = std::get_if<Send>(&effect)) {
        if (const auto* m = std::get_if<T>(&send->message)) found.push_back(m->version);
      }
    }
    return found;
  }
  Versions fills() const { return all<Fill>(); }
  Versions mirrors() const { return all<Mirror>(); }
  Versions tells() const { return all<wire::Reduced>(); }
  Versions shows() const { return all<Publish>(); }
  bool says_filled() const {
    for (const auto& effect : out)
      if (std::holds_alternative<TellFilled>(effect)) return true;
    return false;
  }
  // The place of the first effect of a kind.
  template <class T>
  std::size_t place() const {
    std::size_t place = 0;
    while (place < out.size() && !std::holds_alternative<T>(out[place])) ++place;
    return place;
  }

  // The record of the version after this one; its pass begins when this one is shown.
  void decide(Version step) {
    const GradientId gradient{{0, 1}, static_cast<Sequence>(step)};
    for (BlockId block : {0u, 1u}) on(Received{kSequencer, Push{gradient, step, block, 0, 2}});
    Record record{.index = step - 5, .step = step};
    record.applied.push_back({gradient, 0, 0, 2, 1.0, std::nullopt});
    on(Received{kSequencer, record});
  }
  // Both blocks of the version are made.
  void make(Version version) {
    on(BlockReduced{0, version});
    EXPECT_TRUE(out.empty()) << "a block is not all of it";
    on(BlockReduced{1, version});
  }
  void commit(Version version) { on(Received{kSequencer, Commit{version}}); }
  void backup(bool there) { on(BackupChanged{there}); }

  BlockPlan plan = plan_of_two();
  Shard shard;
  Effects out;
};

TEST(ShardBackupTest, WithoutABackupItTellsAtOnce) {
  ShardBackupBench b;
  b.decide(5);
  b.make(6);
  EXPECT_EQ(b.tells(), Versions{6});
  EXPECT_TRUE(b.mirrors().empty());
  b.on(Mirrored{6});
  EXPECT_TRUE(b.out.empty()) << "there is nobody who could have it";
}

TEST(ShardBackupTest, BetweenPassesABackupIsFilledAtOnce) {
  ShardBackupBench b;
  b.backup(true);
  EXPECT_EQ(b.fills(), Versions{5});
  EXPECT_EQ(b.out.size(), 1u);
}

TEST(ShardBackupTest, DuringAPassABackupIsFilledWithWhatItEndsWith) {
  ShardBackupBench b;
  b.decide(5);
  b.backup(true);
  EXPECT_TRUE(b.out.empty()) << "the means of this pass are not kept";
  b.make(6);
  EXPECT_EQ(b.tells(), Versions{6}) << "nobody waits for it";
  EXPECT_TRUE(b.mirrors().empty());
  EXPECT_TRUE(b.fills().empty()) << "it may not be committed";
  b.decide(6);
  EXPECT_TRUE(b.fills().empty());
  b.commit(6);
  EXPECT_EQ(b.shows(), Versions{6});
  EXPECT_EQ(b.fills(), Versions{6});
  ASSERT_LT(b.place<Reduce>(), b.out.size()) << "the next pass begins";
  EXPECT_LT(b.place<Fill>(), b.place<Reduce>()) << "its means have to be kept";
  b.make(7);
  EXPECT_EQ(b.mirrors(), Versions{7});
}

TEST(ShardBackupTest, WhileTheNormIsMeasuredAPassIsUnderWay) {
  ShardBackupBench b;
  const GradientId gradient{{0, 1}, 5};
  for (BlockId block : {0u, 1u}) b.on(Received{kSequencer, Push{gradient, 5, block, 0, 2}});
  Record record{.step = 5};
  record.applied.push_back({gradient, 0, 0, 2, 1.0, std::nullopt});
  record.clip = true;
  b.on(Received{kSequencer, record});
  b.backup(true);
  EXPECT_TRUE(b.fills().empty());
  for (BlockId block : {0u, 1u}) b.on(BlockMeasured{block, 5, 1});
  b.on(Received{kSequencer, Scale{5, 1}});
  EXPECT_TRUE(b.fills().empty());
  b.make(6);
  b.commit(6);
  EXPECT_EQ(b.fills(), Versions{6});
}

TEST(ShardBackupTest, WhileItIsFilledNobodyWaits) {
  ShardBackupBench b;
  b.backup(true);
  for (const Version version : {6u, 7u, 8u}) {
    b.decide(version - 1);
    b.make(version);
    EXPECT_EQ(b.mirrors(), Versions{version}) << "it needs the means all the same";
    EXPECT_EQ(b.tells(), Versions{version});
    b.commit(version);
    EXPECT_EQ(b.shows(), Versions{version});
    EXPECT_TRUE(b.fills().empty()) << "once";
  }
}

TEST(ShardBackupTest, WhenTheSliceIsThereWhatIsMadeWaits) {
  ShardBackupBench b;
  b.backup(true);
  b.decide(5);
  b.on(Mirrored{5});
  EXPECT_TRUE(b.says_filled()) << "nothing was told of since";
  EXPECT_EQ(b.out.size(), 1u);
  b.make(6);
  EXPECT_EQ(b.mirrors(), Versions{6});
  EXPECT_TRUE(b.tells().empty());
  b.on(Mirrored{6});
  EXPECT_EQ(b.tells(), Versions{6});
  EXPECT_FALSE(b.says_filled()) << "once";
  b.commit(6);
  EXPECT_EQ(b.shows(), Versions{6});
}

TEST(ShardBackupTest, OnlyWhatWasMadeCountsAsBeingThere) {
  ShardBackupBench b;
  b.backup(true);
  b.on(Mirrored{5});
  b.decide(5);
  b.make(6);
  for (const Version version : {5u, 7u}) {
    b.on(Mirrored{version});
    EXPECT_TRUE(b.tells().empty()) << version;
  }
  b.on(Mirrored{6});
  EXPECT_EQ(b.tells(), Versions{6});
  b.on(Mirrored{6});
  EXPECT_TRUE(b.out.empty()) << "twice";
  b.commit(6);
  EXPECT_EQ(b.shows(), Versions{6});
}

TEST(ShardBackupTest, ItIsFilledWhenEverythingThatWasToldOfIsThere) {
  ShardBackupBench b;
  b.backup(true);
  b.decide(5);
  b.make(6);
  b.commit(6);
  b.decide(6);
  b.make(7);
  EXPECT_EQ(b.tells(), Versions{7});
  b.on(Mirrored{5});
  EXPECT_TRUE(b.out.empty()) << "7 was told of";
  b.on(Mirrored{6});
  EXPECT_TRUE(b.out.empty());
  b.on(Mirrored{7});
  EXPECT_TRUE(b.says_filled());
  EXPECT_TRUE(b.tells().empty()) << "it was";
}

TEST(ShardBackupTest, BeforeItIsFilledItIsWaitedForAsWell) {
  ShardBackupBench b;
  b.backup(true);
  b.decide(5);
  b.make(6);
  b.on(Mirrored{5});
  EXPECT_FALSE(b.says_filled());
  b.commit(6);
  EXPECT_EQ(b.shows(), Versions{6});
  b.decide(6);
  b.make(7);
  EXPECT_TRUE(b.tells().empty()) << "the slice is there: from the next on";
  b.on(Mirrored{6});
  EXPECT_TRUE(b.says_filled()) << "7 was told to nobody";
  EXPECT_TRUE(b.tells().empty());
  b.on(Mirrored{7});
  EXPECT_FALSE(b.says_filled());
  EXPECT_EQ(b.tells(), Versions{7});
}

TEST(ShardBackupTest, WhatIsCommittedWasToldOf) {
  ShardBackupBench b;
  b.backup(true);
  b.decide(5);
  b.make(6);
  b.commit(6);
  b.on(Mirrored{5});
  EXPECT_FALSE(b.says_filled());
  b.on(Mirrored{6});
  EXPECT_TRUE(b.says_filled());
}

TEST(ShardBackupTest, WithoutItWhatWaitsIsTold) {
  ShardBackupBench b;
  b.backup(true);
  b.on(Mirrored{5});
  b.decide(5);
  b.make(6);
  EXPECT_TRUE(b.tells().empty());
  b.backup(false);
  EXPECT_EQ(b.tells(), Versions{6});
  b.on(Mirrored{6});
  EXPECT_TRUE(b.out.empty()) << "late";
  b.commit(6);
  EXPECT_EQ(b.shows(), Versions{6});
  b.decide(6);
  b.make(7);
  EXPECT_EQ(b.tells(), Versions{7});
  EXPECT_TRUE(b.mirrors().empty());
}

TEST(ShardBackupTest, WithoutItNothingIsToldThatIsNotMade) {
  ShardBackupBench b(true);
  b.backup(false);
  EXPECT_TRUE(b.out.empty());
  b.decide(5);
  b.backup(true);
  b.backup(false);
  EXPECT_TRUE(b.out.empty());
  b.make(6);
  EXPECT_EQ(b.tells(), Versions{6});
  b.backup(false);
  EXPECT_TRUE(b.out.empty()) << "it was told";
  b.commit(6);
  EXPECT_TRUE(b.fills().empty()) << "the backup went before it was its turn";
}

TEST(ShardBackupTest, ATwinFromTheBeginningIsWaitedForAndIsFilledAlready) {
  ShardBackupBench b(true);
  b.decide(5);
  b.make(6);
  EXPECT_EQ(b.mirrors(), Versions{6});
  EXPECT_TRUE(b.tells().empty());
  b.on(Mirrored{6});
  EXPECT_EQ(b.tells(), Versions{6});
  EXPECT_FALSE(b.says_filled());
}

TEST(ShardBackupTest, ASecondBackupIsFilledAnew) {
  ShardBackupBench b(true);
  b.decide(5);
  b.make(6);
  b.backup(false);
  EXPECT_EQ(b.tells(), Versions{6});
  b.backup(true);
  EXPECT_TRUE(b.fills().empty()) << "6 is not committed";
  b.commit(6);
  EXPECT_EQ(b.fills(), Versions{6});
  b.decide(6);
  b.make(7);
  EXPECT_EQ(b.mirrors(), Versions{7});
  EXPECT_EQ(b.tells(), Versions{7}) << "nobody waits for it yet";
  b.on(Mirrored{6});
  EXPECT_TRUE(b.out.empty());
  b.on(Mirrored{7});
  EXPECT_TRUE(b.says_filled());
  b.commit(7);
  b.backup(false);
  b.backup(true);
  EXPECT_EQ(b.fills(), Versions{7}) << "and a third";
  b.on(Mirrored{7});
  EXPECT_TRUE(b.says_filled());
}

TEST(ShardBackupTest, ABackupInTheBackupsPlaceIsFilledAnew) {
  ShardBackupBench b(true);
  b.backup(true);
  EXPECT_EQ(b.fills(), Versions{5}) << "it has nothing yet";
  b.decide(5);
  b.make(6);
  EXPECT_EQ(b.tells(), Versions{6});
  b.on(Mirrored{5});
  EXPECT_FALSE(b.says_filled());
  b.on(Mirrored{6});
  EXPECT_TRUE(b.says_filled());
}

// What waits for a backup is told when it goes, also where another comes straight into its place.
TEST(ShardBackupTest, WhatWaitsIsToldWhenAnotherComesIntoTheBackupsPlace) {
  ShardBackupBench b(true);
  b.decide(5);
  b.make(6);
  EXPECT_TRUE(b.tells().empty());
  b.backup(true);
  EXPECT_EQ(b.tells(), Versions{6}) << "who has nothing yet is not waited for";
  b.commit(6);
  EXPECT_EQ(b.shows(), Versions{6});
  EXPECT_EQ(b.fills(), Versions{6});
}

TEST(ShardBackupTest, SaysAgainWhatWasToldAndNotWhatWaits) {
  ShardBackupBench b;
  b.backup(true);
  b.on(Mirrored{5});
  b.decide(5);
  b.make(6);
  b.on(Reset{kSequencer});
  EXPECT_EQ(b.tells(), Versions{5});
  b.backup(false);
  b.on(Reset{kSequencer});
  EXPECT_EQ(b.tells(), Versions{6});
}

}  // namespace
}  // namespace yoke::core
