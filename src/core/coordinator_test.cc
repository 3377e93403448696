// Who hosts what, and from what it goes on: what the coordinator decides, written down by hand.
#include "core/coordinating.h"

namespace yoke::core::coordinating {
namespace {

// --- the first view ---

TEST(CoordinatorTest, TheFirstViewNeedsEveryPrimaryAndBackup) {
  Bench b;
  for (const Incarnation life : {7u, 3u, 9u}) {
    b.attend(life);
    EXPECT_TRUE(b.quiet());
    EXPECT_TRUE(b.coordinator.forming());
  }
  EXPECT_EQ(b.coordinator.waiting_for(), "servers: 3 of 4 are there");
  b.attend(5);
  const auto view = b.decided();
  EXPECT_EQ(view.number, 1u);
  EXPECT_EQ(view.revision, 0u);
  EXPECT_EQ(view.from, 0u);
  EXPECT_FALSE(view.restore);
  EXPECT_TRUE(view.networks.empty());
  EXPECT_FALSE(view.over);
  EXPECT_EQ(seats(view), "3+7 5+9");
}

TEST(CoordinatorTest, AViewIsToldOfWhenItIsStored) {
  Bench b;
  for (Incarnation life = 1; life <= 4; ++life) b.attend(life);
  EXPECT_TRUE(b.told().empty());
  EXPECT_FALSE(b.coordinator.view());
  b.attend(5);
  b.pass(seconds(60));
  EXPECT_TRUE(b.quiet()) << "it is not stored yet, nor decided twice";
  b.stored();
  EXPECT_EQ(b.told(), (Lives{1, 2, 3, 4}));
  EXPECT_FALSE(b.coordinator.forming());
  b.stored();
  EXPECT_TRUE(b.quiet()) << "said twice";
}

TEST(CoordinatorTest, AfterAWhileThePrimariesAreEnough) {
  Bench b;
  b.attend(1);
  b.pass(seconds(60));
  b.attend(2);
  b.pass(milliseconds(4999));
  EXPECT_TRUE(b.quiet()) << "the while begins when they are enough";
  b.pass(milliseconds(1));
  EXPECT_EQ(seats(b.decided()), "1 2");
}

TEST(CoordinatorTest, AfterAWhileSomeBackupsAreBetterThanNone) {
  Bench b;
  for (Incarnation life = 1; life <= 3; ++life) b.attend(life);
  b.pass(seconds(5));
  EXPECT_EQ(seats(b.decided()), "1+3 2");
  b.stored();
  b.attend(4);
  const auto view = b.decided();
  EXPECT_EQ(seats(view), "1+3 2+4");
  EXPECT_EQ(view.number, 1u);
  EXPECT_EQ(view.revision, 1u);
  EXPECT_EQ(view.shards.at(0).since, 0u);
  EXPECT_EQ(view.shards.at(1).since, 1u);
}

TEST(CoordinatorTest, WhoGoesBeforeTheFirstViewIsNotInIt) {
  Bench b;
  b.attend(1);
  b.attend(2);
  b.pass(seconds(4));
  b.vanish(2);
  b.pass(seconds(4));
  EXPECT_TRUE(b.quiet());
  b.attend(3);
  b.pass(seconds(4));
  EXPECT_TRUE(b.quiet()) << "the while begins anew";
  b.pass(seconds(1));
  EXPECT_EQ(seats(b.decided()), "1 3");
}

TEST(CoordinatorTest, WithoutBackupsThePrimariesAreEnoughAtOnce) {
  Bench b(two_shards(0));
  b.attend(1);
  b.attend(2);
  EXPECT_EQ(seats(b.decided()), "1 2");
  b.stored();
  b.attend(3);
  EXPECT_TRUE(b.quiet()) << "it is idle";
}

TEST(CoordinatorTest, WhoHasLostItsConnectionBeforeItHeardOfItsViewIsTold) {
  Bench b;
  for (Incarnation life = 1; life <= 4; ++life) b.attend(life);
  b.vanish(1);
  b.vanish(3);
  b.stored();
  EXPECT_EQ(b.told(), (Lives{2, 4}));
  b.attend(1);
  EXPECT_EQ(b.told(), Lives{1});
  b.attend(3);
  EXPECT_EQ(b.told(), Lives{3});
  b.pass(seconds(60));
  EXPECT_TRUE(b.quiet());
  EXPECT_FALSE(b.coordinator.forming());
}

// A backup that has no connection when the view is stored hears of it when it is there again.
TEST(CoordinatorTest, WhoIsNotThereIsNotTold) {
  Bench b;
  for (Incarnation life = 1; life <= 4; ++life) b.attend(life);
  b.vanish(3);
  b.stored();
  for (const auto& tell : b.all<TellView>()) EXPECT_NE(tell.to, 3u);
}

// --- a primary is lost ---

TEST(CoordinatorTest, ABackupThatIsFilledTakesThePrimarysPlace) {
  auto b = first_view(5);
  b.die(1);
  EXPECT_EQ(b.recalled(), (Lives{2, 3, 4, 5}));
  EXPECT_TRUE(b.coordinator.forming());
  b.lay_down(2, {slice(1, 5)});
  b.lay_down(3, {slice(0, 5)});
  EXPECT_TRUE(b.quiet());
  EXPECT_EQ(b.coordinator.waiting_for(), "the server at place 4");
  b.lay_down(4, {slice(1, 5)});
  const auto view = b.decided();
  EXPECT_TRUE(b.told().empty());
  EXPECT_EQ(view.number, 2u);
  EXPECT_EQ(view.revision, 0u);
  EXPECT_EQ(view.from, 1u);
  EXPECT_FALSE(view.restore);
  EXPECT_EQ(seats(view), "3+5 2+4*") << "who was idle has nothing, who was a backup has";
  ASSERT_EQ(view.networks.size(), 1u);
  EXPECT_EQ(view.networks[0], (ServerView::Network{5, standing_of(5)}));
  EXPECT_TRUE(b.coordinator.forming()) << "it is not stored yet";
  b.stored();
  EXPECT_EQ(b.view(), view);
  EXPECT_EQ(b.told(), (Lives{2, 3, 4, 5}));
  EXPECT_FALSE(b.coordinator.forming());
  EXPECT_EQ(b.coordinator.waiting_for(), "");
}

TEST(CoordinatorTest, APrimaryThatHasLaidTheViewDownEndsItForAll) {
  auto b = first_view();
  b.lay_down(2, {slice(1, 5), slice(1, 6)});
  EXPECT_EQ(b.recalled(), (Lives{1, 3, 4}));
  b.lay_down(1, {slice(0, 5), slice(0, 6)});
  b.lay_down(3, {slice(0, 5), slice(0, 6)});
  b.lay_down(4, {slice(1, 5), slice(1, 6)});
  EXPECT_EQ(seats(b.decided()), "1+3* 2+4*") << "everybody stays what it was";
  EXPECT_EQ(b.decided().networks.at(0).version, 6u) << "whether it was committed or not";
}

TEST(CoordinatorTest, AnotherProcessInTheSamePlaceIsTheEndOfTheFormer) {
  auto b = first_view();
  b.on(Attended{{6, host(1).listens}, {}});
  EXPECT_EQ(b.recalled(), (Lives{2, 3, 4}));
  b.lay_down(2, {slice(1, 5)});
  b.lay_down(3, {slice(0, 5)});
  b.lay_down(4, {slice(1, 5)});
  const auto view = b.decided();
  EXPECT_EQ(view.shards.at(0).primary, host(3));
  ASSERT_TRUE(view.shards.at(0).backup);
  EXPECT_EQ(view.shards.at(0).backup->life, 6u) << "it is another";
}

TEST(CoordinatorTest, GoesOnFromTheNewestVersionThatAllHoldersHave) {
  const std::vector<Version> both{5, 6}, five{5}, six{6};
  struct Case {
    std::vector<Version> first, first_backup, second, second_backup;
    Version newest;
  };
  const std::vector<Case> cases{
      {both, both, both, both, 6}, {both, both, both, five, 5}, {both, five, both, both, 5},
      {both, both, five, five, 5}, {five, both, both, both, 5}, {six, six, both, both, 6},
      {both, six, both, six, 6},
  };
  for (const auto& one : cases) {
    auto b = first_view();
    const auto say = [&](Incarnation life, ShardId shard, const std::vector<Version>& versions) {
      std::vector<Holding> holdings;
      for (const auto version : versions) holdings.push_back(slice(shard, version));
      b.lay_down(life, holdings);
    };
    say(1, 0, one.first);
    say(2, 1, one.second);
    say(3, 0, one.first_backup);
    say(4, 1, one.second_backup);
    const auto view = b.decided();
    const auto which = &one - cases.data();
    ASSERT_EQ(view.networks.size(), 1u) << which;
    EXPECT_EQ(view.networks[0], (ServerView::Network{one.newest, standing_of(one.newest)})) << which;
    EXPECT_EQ(seats(view), "1+3* 2+4*") << which;
  }
}

TEST(CoordinatorTest, WhatOneMadeAndItsBackupHasNotWasNeverToldOf) {
  auto b = first_view(5);
  b.die(1);
  b.lay_down(2, {slice(1, 5), slice(1, 6)});
  b.lay_down(3, {slice(0, 5), slice(0, 6)});
  b.lay_down(4, {slice(1, 5)});
  EXPECT_EQ(b.decided().networks.at(0).version, 5u);
  EXPECT_EQ(seats(b.decided()), "3+5 2+4*") << "without it the backup stays filled";
}

TEST(CoordinatorTest, TheStandingIsTheOneOfTheVersion) {
  auto b = first_view();
  auto first = slice(0, 6), second = slice(1, 6);
  first.standing.reset();
  second.standing.reset();
  b.lay_down(1, {slice(0, 5), first});
  b.lay_down(2, {slice(1, 5), slice(1, 6)});
  b.lay_down(3, {first});
  b.lay_down(4, {second});
  EXPECT_EQ(b.decided().networks.at(0), (ServerView::Network{6, standing_of(6)})) << "whoever says it";
}

TEST(CoordinatorTest, EveryNetworkGoesOnFromItsOwnNewest) {
  auto b = first_view(5);
  const auto second = [](ShardId shard, Version version) {
    return Holding{1, 1, shard, 2, version, standing_of(version)};
  };
  b.die(1);
  b.lay_down(2, {slice(1, 5), slice(1, 6), second(1, 8)});
  b.lay_down(3, {slice(0, 5), slice(0, 6), second(0, 8), second(0, 9)});
  b.lay_down(4, {slice(1, 5), slice(1, 6), second(1, 8)});
  const auto view = b.decided();
  ASSERT_EQ(view.networks.size(), 2u);
  EXPECT_EQ(view.networks[0], (ServerView::Network{6, standing_of(6)}));
  EXPECT_EQ(view.networks[1], (ServerView::Network{8, standing_of(8)}));
}

TEST(CoordinatorTest, ASmallNetworkHasNothingOnSomeServers) {
  auto b = first_view();
  b.die(1);
  b.lay_down(2, {});
  b.lay_down(3, {{1, 0, 0, 1, 5, standing_of(5)}});
  b.lay_down(4, {});
  EXPECT_EQ(seats(b.decided()), "3+4 2") << "who takes the part of which there is nothing has nothing to lose";
  EXPECT_EQ(b.decided().networks.at(0).version, 5u);
}

TEST(CoordinatorTest, ABackupThatIsNotFilledIsNobodysHeir) {
  auto b = first_view(5);
  b.die(1);
  b.lay_down(2, {slice(1, 5)});
  b.lay_down(4, {slice(1, 5)});
  b.lay_down(3, {});
  EXPECT_TRUE(b.quiet());
  b.pass(milliseconds(1500));
  EXPECT_FALSE(b.decides());
  EXPECT_EQ(b.all<GiveUp>().size(), 1u) << "what there was of the shard is lost";
}

TEST(CoordinatorTest, WhatOthersHaveOfAnotherShardIsNoHelp) {
  auto b = first_view(5);
  b.die(1);
  b.lay_down(2, {slice(1, 5)});
  b.lay_down(4, {slice(0, 5), slice(1, 5)});
  b.lay_down(3, {slice(1, 5)});
  b.pass(milliseconds(1500));
  EXPECT_FALSE(b.decides());
  EXPECT_EQ(b.all<GiveUp>().size(), 1u) << "server 4 was not the backup of it, and server 3 has another";
}

TEST(CoordinatorTest, NobodyHadAnythingYet) {
  auto b = first_view();
  b.lay_down(1, {});
  b.lay_down(2, {});
  b.lay_down(3, {});
  EXPECT_TRUE(b.quiet());
  b.lay_down(4, {});
  const auto view = b.decided();
  EXPECT_EQ(view.number, 2u);
  EXPECT_EQ(seats(view), "1+3 2+4");
  EXPECT_FALSE(view.restore) << "it begins as it began before";
  EXPECT_TRUE(view.networks.empty());
}

TEST(CoordinatorTest, WhoIsDeadMayHaveHadSomething) {
  auto b = first_view(5);
  b.die(1);
  b.lay_down(2, {});
  b.lay_down(3, {});
  b.lay_down(4, {});
  EXPECT_TRUE(b.quiet());
  b.pass(milliseconds(1500));
  EXPECT_FALSE(b.decides());
  EXPECT_EQ(b.all<GiveUp>().size(), 1u);
}

// --- who is silent ---

TEST(CoordinatorTest, ASilentPrimaryWithoutAHeirIsWaitedFor) {
  auto b = first_view();
  b.vanish(2);
  EXPECT_EQ(b.probed(), Lives{2});
  EXPECT_FALSE(b.coordinator.forming()) << "its connection to the coordinator says nothing about the view";
  b.die(1);
  b.lay_down(3, {slice(0, 5)});
  b.lay_down(4, {});
  b.pass(seconds(1000));
  EXPECT_FALSE(b.decides()) << "it may still be at it";
  EXPECT_EQ(b.probed(), Lives{2});
  EXPECT_EQ(b.coordinator.waiting_for(), "the server at place 2");
  b.serve(2);
  EXPECT_EQ(b.recalled(), Lives{2});
  EXPECT_FALSE(b.decides()) << "not even then";
  b.lay_down(2, {slice(1, 5)});
  EXPECT_EQ(seats(b.decided()), "3+4 2");
}

TEST(CoordinatorTest, WhatASilentServerHadLaidDownDoesNotCountWhileItIsSilent) {
  auto b = first_view();
  b.lay_down(2, {slice(1, 5)});
  b.vanish(2);
  b.lay_down(1, {slice(0, 5)});
  b.lay_down(3, {slice(0, 5)});
  b.lay_down(4, {});
  b.pass(seconds(1000));
  EXPECT_FALSE(b.decides());
  b.lay_down(2, {slice(1, 5)});
  EXPECT_EQ(seats(b.decided()), "1+3* 2+4");
}

TEST(CoordinatorTest, ASilentPrimaryWithAHeirIsWaitedForAWhile) {
  auto b = first_view();
  b.vanish(2);
  b.die(1);
  const auto old = b.view();
  b.lay_down(3, {slice(0, 5)});
  b.lay_down(4, {slice(1, 5), slice(1, 6)});
  b.pass(milliseconds(1499));
  EXPECT_FALSE(b.decides());
  b.pass(milliseconds(1));
  EXPECT_EQ(seats(b.decided()), "3 4");
  EXPECT_EQ(b.decided().networks.at(0).version, 5u);
  b.stored();
  EXPECT_EQ(b.told(), (Lives{3, 4}));
  b.serve(2, old);
  EXPECT_EQ(b.recalled(), Lives{2}) << "it believes that it is at it";
  EXPECT_FALSE(b.decides());
  b.lay_down(2, {slice(1, 5)});
  EXPECT_EQ(seats(b.decided()), "3+2 4") << "it is one like any other now";
  EXPECT_EQ(b.decided().number, 2u);
  EXPECT_EQ(b.decided().revision, 1u);
  EXPECT_EQ(b.decided().shards.at(0).since, 1u);
}

TEST(CoordinatorTest, ASilentServerThatComesBackInTimeIsWhatItWas) {
  auto b = first_view();
  b.vanish(2);
  b.die(1);
  const auto old = b.view();
  b.lay_down(3, {slice(0, 5)});
  b.lay_down(4, {slice(1, 5)});
  b.pass(milliseconds(1000));
  b.serve(2, old);
  EXPECT_EQ(b.recalled(), Lives{2});
  b.lay_down(2, {slice(1, 5)});
  EXPECT_EQ(seats(b.decided()), "3 2+4*");
}

TEST(CoordinatorTest, ASilentServerThatComesBackWhileTheNextViewIsStoredIsLeftOut) {
  auto b = first_view();
  b.vanish(2);
  b.die(1);
  const auto old = b.view();
  b.lay_down(3, {slice(0, 5)});
  b.lay_down(4, {slice(1, 5)});
  b.pass(milliseconds(1500));
  EXPECT_EQ(seats(b.decided()), "3 4");
  b.serve(2, old);
  EXPECT_EQ(b.recalled(), Lives{2});
  b.lay_down(2, {slice(1, 5)});
  EXPECT_TRUE(b.quiet());
  b.stored();
  EXPECT_EQ(b.told(), (Lives{3, 4}));
  EXPECT_EQ(seats(b.decided()), "3+2 4") << "and is taken in as a backup";
}

TEST(CoordinatorTest, ASilentBackupIsWaitedForAWhile) {
  auto b = first_view(5);
  b.vanish(4);
  EXPECT_EQ(b.probed(), Lives{4});
  b.pass(seconds(1000));
  EXPECT_EQ(b.probed(), Lives{4});
  EXPECT_FALSE(b.decides()) << "its primary has not lost it";
  b.die(1);
  b.lay_down(2, {slice(1, 5), slice(1, 6)});
  b.lay_down(3, {slice(0, 5), slice(0, 6)});
  EXPECT_TRUE(b.quiet());
  b.pass(milliseconds(1500));
  EXPECT_EQ(seats(b.decided()), "3+5 2");
  EXPECT_EQ(b.decided().networks.at(0).version, 6u);
}

TEST(CoordinatorTest, WhoWasTakenForDeadAndIsNotLaysDownLikeTheOthers) {
  auto b = first_view();
  b.die(1);
  b.serve(1);
  EXPECT_EQ(b.recalled(), Lives{1});
  b.lay_down(1, {slice(0, 5)});
  b.lay_down(2, {slice(1, 5)});
  b.lay_down(3, {slice(0, 5)});
  b.lay_down(4, {slice(1, 5)});
  EXPECT_EQ(seats(b.decided()), "1+3* 2+4*");
}

TEST(CoordinatorTest, APrimaryThatIsCutOffFromTheCoordinatorOnlyStaysWhatItIs) {
  auto b = first_view(5);
  b.vanish(1);
  b.pass(seconds(1000));
  EXPECT_FALSE(b.coordinator.forming());
  b.serve(1);
  EXPECT_TRUE(b.quiet());
  b.pass(seconds(1));
  EXPECT_TRUE(b.quiet()) << "it is there";
}

}  // namespace
}  // namespace yoke::core::coordinating
