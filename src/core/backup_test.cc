// A backup, driven by hand: what it makes of what the primary sends.
#include "core/backup.h"

#include <gtest/gtest.h>

#include <vector>

namespace yoke::core {
namespace {

using Versions = std::vector<Version>;

Standing standing_of(Version version) { return {.version = version, .samples = 100 + version}; }

SliceCame slice(Version version) { return {version, standing_of(version)}; }
MeansCame means(Version version) { return {version, standing_of(version)}; }

struct BackupBench {
  BackupBench() = default;
  explicit BackupBench(Version version) : backup(version, standing_of(version)) {}
  void on(const Event& event) {
    out.clear();
    backup.on(event, out);
  }
  // The versions of the effects of a kind.
  template <class T>
  Versions all() const {
    Versions found;
    for (const auto& effect : out)
      if (const auto* e = std::get_if<T>(&effect)) found.push_back(e->version);
    return found;
  }
  template <class T>
  Versions on(const Event& event) {
    on(event);
    return all<T>();
  }
  Versions holds() const {
    Versions versions;
    for (const auto& [version, standing] : backup.holds()) {
      versions.push_back(version);
      EXPECT_EQ(standing, standing_of(version));
    }
    return versions;
  }

  Backup backup;
  Effects out;
};

TEST(BackupTest, ASliceIsAcknowledgedAsItComes) {
  BackupBench b;
  EXPECT_EQ(b.on<Acknowledge>(slice(5)), Versions{5});
  EXPECT_EQ(b.out.size(), 1u) << "there is nothing to make";
  b.on(slice(7));
  EXPECT_TRUE(b.out.empty()) << "it has one";
}

TEST(BackupTest, MakesWhatFollowsAndAcknowledgesItWhenItIsMade) {
  BackupBench b;
  b.on(slice(5));
  EXPECT_EQ(b.on<Follow>(means(6)), Versions{6});
  EXPECT_TRUE(b.all<Acknowledge>().empty()) << "it is being made";
  EXPECT_TRUE(b.all<Publish>().empty()) << "the slice was shown before it came";
  EXPECT_EQ(b.on<Acknowledge>(Followed{6}), Versions{6});
  EXPECT_EQ(b.out.size(), 1u);
}

TEST(BackupTest, TheFormerIsShownWhenTheNextIsBegun) {
  BackupBench b;
  b.on(slice(5));
  b.on(means(6));
  EXPECT_TRUE(b.on<Publish>(Followed{6}).empty()) << "it may not be committed";
  EXPECT_EQ(b.on<Publish>(means(7)), Versions{6});
  EXPECT_EQ(b.all<Follow>(), Versions{7});
  ASSERT_EQ(b.out.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<Publish>(b.out[0])) << "the place that it takes must be free";
}

TEST(BackupTest, MeansThatComeBeforeTheSliceAreKept) {
  BackupBench b;
  for (const Version version : {7u, 6u, 5u}) {
    b.on(means(version));
    EXPECT_TRUE(b.out.empty()) << version;
  }
  EXPECT_EQ(b.on<Acknowledge>(slice(5)), Versions{5});
  EXPECT_EQ(b.all<Follow>(), Versions{6}) << "5 is in the slice";
  EXPECT_EQ(b.on<Acknowledge>(Followed{6}), Versions{6});
  EXPECT_EQ(b.all<Publish>(), Versions{6});
  EXPECT_EQ(b.all<Follow>(), Versions{7});
  EXPECT_EQ(b.on<Acknowledge>(Followed{7}), Versions{7});
  EXPECT_EQ(b.out.size(), 1u);
}

TEST(BackupTest, MeansOutOfOrderAreMadeInOrder) {
  BackupBench b;
  b.on(slice(5));
  for (const Version version : {8u, 7u}) {
    b.on(means(version));
    EXPECT_TRUE(b.out.empty()) << version;
  }
  EXPECT_EQ(b.on<Follow>(means(6)), Versions{6}) << "one at a time";
  EXPECT_EQ(b.on<Follow>(Followed{6}), Versions{7});
  EXPECT_EQ(b.on<Follow>(Followed{7}), Versions{8});
  EXPECT_EQ(b.on<Follow>(Followed{8}), Versions{});
  EXPECT_EQ(b.all<Acknowledge>(), Versions{8});
}

TEST(BackupTest, EachIsMadeOnce) {
  BackupBench b;
  b.on(slice(5));
  b.on(means(6));
  b.on(means(6));
  EXPECT_TRUE(b.out.empty()) << "it is being made";
  b.on(Followed{6});
  b.on(means(6));
  EXPECT_TRUE(b.out.empty()) << "it is made";
  b.on(Followed{6});
  EXPECT_TRUE(b.out.empty()) << "it was acknowledged";
  b.on(means(5));
  EXPECT_TRUE(b.out.empty()) << "it is older than the slice";
  EXPECT_EQ(b.on<Follow>(means(7)), Versions{7});
  for (const Version version : {6u, 5u}) {
    b.on(means(version));
    EXPECT_TRUE(b.out.empty()) << version;
  }
  EXPECT_EQ(b.on<Acknowledge>(Followed{7}), Versions{7});
  EXPECT_EQ(b.out.size(), 1u) << "what came twice is not made after it";
}

TEST(BackupTest, WhatIsNotBeingMadeIsNotAcknowledged) {
  BackupBench b;
  b.on(Followed{1});
  EXPECT_TRUE(b.out.empty());
  b.on(slice(5));
  b.on(means(6));
  for (const Version version : {5u, 7u}) {
    b.on(Followed{version});
    EXPECT_TRUE(b.out.empty()) << version;
  }
}

TEST(BackupTest, HoldsNothingUntilItIsFilled) {
  BackupBench b;
  EXPECT_TRUE(b.holds().empty());
  b.on(slice(5));
  b.on(means(6));
  b.on(Followed{6});
  EXPECT_FALSE(b.backup.filled());
  EXPECT_TRUE(b.holds().empty()) << "what was told of may be newer";
  b.on(FilledUp{});
  EXPECT_TRUE(b.out.empty());
  EXPECT_TRUE(b.backup.filled());
  EXPECT_EQ(b.holds(), (Versions{5, 6}));
}

TEST(BackupTest, WithoutASliceThereIsNothingToHold) {
  BackupBench b;
  b.on(means(6));
  b.on(FilledUp{});
  EXPECT_TRUE(b.holds().empty());
}

TEST(BackupTest, HoldsTwoVersionsAtMostAndNoneThatIsHalfMade) {
  BackupBench b;
  b.on(slice(5));
  b.on(FilledUp{});
  EXPECT_EQ(b.holds(), Versions{5});
  b.on(means(6));
  EXPECT_EQ(b.holds(), Versions{5});
  b.on(means(7));
  b.on(means(8));
  EXPECT_EQ(b.holds(), Versions{5}) << "means are no version";
  b.on(Followed{6});
  EXPECT_EQ(b.holds(), Versions{6}) << "7 is being written where 5 was";
  b.on(Followed{7});
  EXPECT_EQ(b.holds(), Versions{7});
  b.on(Followed{8});
  EXPECT_EQ(b.holds(), (Versions{7, 8}));
}

TEST(BackupTest, WhatIsLaidDownStaysAsItIs) {
  BackupBench b;
  b.on(slice(5));
  b.on(FilledUp{});
  b.on(means(6));
  b.on(LaidDown{});
  EXPECT_TRUE(b.out.empty());
  b.on(Followed{6});
  EXPECT_TRUE(b.out.empty()) << "what it has was said";
  EXPECT_EQ(b.holds(), Versions{5});
  for (const Event& event : {Event(means(7)), Event(slice(9)), Event(FilledUp{})}) {
    b.on(event);
    EXPECT_TRUE(b.out.empty());
  }
  EXPECT_EQ(b.holds(), Versions{5});
  EXPECT_TRUE(b.backup.filled());
}

TEST(BackupTest, WhatIsLaidDownBeforeItIsFilledNeverIs) {
  BackupBench b;
  b.on(LaidDown{});
  b.on(slice(5));
  EXPECT_TRUE(b.out.empty());
  b.on(FilledUp{});
  EXPECT_FALSE(b.backup.filled());
  EXPECT_TRUE(b.holds().empty());
}

TEST(BackupTest, GoesOnFromAVersionThatItHas) {
  BackupBench b(5);
  EXPECT_TRUE(b.backup.filled());
  EXPECT_EQ(b.holds(), Versions{5});
  b.on(slice(4));
  EXPECT_TRUE(b.out.empty());
  EXPECT_EQ(b.on<Follow>(means(6)), Versions{6});
  EXPECT_EQ(b.on<Acknowledge>(Followed{6}), Versions{6});
  EXPECT_EQ(b.holds(), (Versions{5, 6}));
}

TEST(BackupTest, AVersionWithoutAStandingIsHeldAsWell) {
  Backup backup(0, std::nullopt);
  ASSERT_EQ(backup.holds().size(), 1u);
  EXPECT_FALSE(backup.holds().at(0)) << "nothing was trained yet";
}

}  // namespace
}  // namespace yoke::core
