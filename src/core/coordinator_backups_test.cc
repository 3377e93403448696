// Backups that are lost, come again, or have not heard of what they are.
#include "core/coordinating.h"

namespace yoke::core::coordinating {
namespace {

// --- a backup is lost ---

TEST(CoordinatorTest, ABackupThatIsDeadIsTakenOut) {
  auto b = first_view();
  b.die(3);
  auto view = b.decided();
  EXPECT_EQ(seats(view), "1 2+4");
  EXPECT_EQ(view.number, 1u);
  EXPECT_EQ(view.revision, 1u);
  EXPECT_TRUE(b.recalled().empty());
  b.stored();
  EXPECT_EQ(b.told(), (Lives{1, 2, 4}));
  EXPECT_FALSE(b.coordinator.forming());
}

TEST(CoordinatorTest, AnIdleServerTakesItsPlace) {
  auto b = first_view(5);
  b.die(4);
  const auto view = b.decided();
  EXPECT_EQ(seats(view), "1+3 2+5");
  EXPECT_EQ(view.revision, 1u);
  EXPECT_EQ(view.shards.at(0).since, 0u);
  EXPECT_EQ(view.shards.at(1).since, 1u);
  b.stored();
  EXPECT_EQ(b.told(), (Lives{1, 2, 3, 5}));
}

TEST(CoordinatorTest, ABackupThatItsPrimaryHasLostIsTakenOutAndComesInAgain) {
  auto b = first_view();
  const auto old = b.view();
  b.lose(1, 0, 3);
  EXPECT_EQ(seats(b.decided()), "1 2+4");
  EXPECT_EQ(b.decided().revision, 1u);
  EXPECT_TRUE(b.told().empty()) << "the primary may not go on before it is stored";
  b.stored();
  EXPECT_EQ(b.told(), (Lives{1, 2, 4}));
  EXPECT_EQ(b.recalled(), Lives{3}) << "it does not know";
  EXPECT_FALSE(b.decides());
  b.lay_down(3, {slice(0, 5)});
  const auto view = b.decided();
  EXPECT_EQ(seats(view), "1+3 2+4");
  EXPECT_EQ(view.number, 1u);
  EXPECT_EQ(view.revision, 2u);
  EXPECT_EQ(view.shards.at(0).since, 2u);
  EXPECT_FALSE(view.shards.at(0).filled);
  b.stored();
  EXPECT_EQ(b.told(), (Lives{1, 2, 3, 4}));
  b.pass(seconds(1000));
  EXPECT_TRUE(b.quiet()) << "what was lost before is forgotten";
}

TEST(CoordinatorTest, ALostBackupThatComesBackServingIsRecalled) {
  auto b = first_view();
  const auto old = b.view();
  b.vanish(3);
  b.lose(1, 0, 3);
  b.stored();
  EXPECT_TRUE(b.recalled().empty()) << "it is not there";
  b.serve(3, old);
  EXPECT_EQ(b.recalled(), Lives{3});
  EXPECT_TRUE(b.told().empty());
}

TEST(CoordinatorTest, ALostBackupThatHasLaidDownAlreadyComesInAgainAtOnce) {
  auto b = first_view();
  b.lay_down(3, {slice(0, 5)});
  EXPECT_TRUE(b.quiet()) << "it has lost the primary, who may have lost it as well";
  b.lose(1, 0, 3);
  EXPECT_EQ(seats(b.decided()), "1 2+4") << "out first: the primary has to know that it has nothing";
  b.stored();
  EXPECT_EQ(b.told(), (Lives{1, 2, 4}));
  EXPECT_TRUE(b.recalled().empty());
  EXPECT_EQ(seats(b.decided()), "1+3 2+4");
  EXPECT_EQ(b.decided().shards.at(0).since, 2u);
}

TEST(CoordinatorTest, WhatALostBackupHadDoesNotCountBeforeItHasHeardThatItIsInAgain) {
  auto b = first_view(5);
  b.attend(6);
  b.lose(1, 0, 3);
  EXPECT_EQ(seats(b.decided()), "1+5 2+4");
  b.stored();
  b.lay_down(3, {slice(0, 5)});
  b.die(5);
  EXPECT_EQ(seats(b.decided()), "1+3 2+4") << "the first that is idle";
  EXPECT_EQ(b.decided().shards.at(0).since, 2u);
  b.vanish(3);
  b.stored();
  EXPECT_EQ(b.told(), (Lives{1, 2, 4}));
  // The primary went on without it, to version 7, and is gone.
  b.die(1);
  b.lay_down(2, {slice(1, 6), slice(1, 7)}, 1, 2);
  b.lay_down(4, {slice(1, 6), slice(1, 7)}, 1, 2);
  b.lay_down(3, {slice(0, 5), slice(0, 6)}, 1, 0);
  b.pass(milliseconds(1500));
  EXPECT_FALSE(b.decides()) << "version 6 is whole, but 7 was told of";
  EXPECT_EQ(b.all<GiveUp>().size(), 1u);
}

TEST(CoordinatorTest, WhatItHasSinceItIsInAgainCounts) {
  auto b = first_view();
  b.lose(1, 0, 3);
  b.stored();
  b.lay_down(3, {slice(0, 5)});
  b.stored();
  b.die(1);
  b.lay_down(2, {slice(1, 6), slice(1, 7)}, 1, 2);
  b.lay_down(4, {slice(1, 6), slice(1, 7)}, 1, 2);
  b.lay_down(3, {slice(0, 7)}, 1, 2);
  EXPECT_EQ(seats(b.decided()), "3 2+4*");
  EXPECT_EQ(b.decided().networks.at(0).version, 7u);
}

TEST(CoordinatorTest, WhoIsInAgainAndHasNotHeardOfItIsTold) {
  auto b = first_view();
  b.lose(1, 0, 3);
  b.stored();
  b.lay_down(3, {slice(0, 5)});
  b.vanish(3);
  b.stored();
  EXPECT_EQ(b.told(), (Lives{1, 2, 4}));
  b.lay_down(3, {slice(0, 5)});
  EXPECT_EQ(b.told(), Lives{3});
  b.pass(seconds(1000));
  EXPECT_TRUE(b.quiet()) << "that it has laid down is no reason to end the view";
}

TEST(CoordinatorTest, OldNewsOfABackupIsPassedOver) {
  auto b = first_view();
  b.lose(1, 0, 3);
  b.stored();
  b.lay_down(3, {slice(0, 5)});
  b.stored();
  ASSERT_EQ(b.view().shards.at(0).since, 2u);
  b.lose(1, 0, 3, 0);
  EXPECT_TRUE(b.quiet()) << "it is of the time before";
  b.lose(1, 0, 3, 2);
  EXPECT_EQ(seats(b.decided()), "1 2+4");
}

TEST(CoordinatorTest, OnlyThePrimarySaysWhatBecameOfItsBackup) {
  auto b = first_view(5);
  b.lose(2, 0, 3);
  EXPECT_TRUE(b.quiet()) << "of another shard";
  b.lose(1, 1, 4);
  EXPECT_TRUE(b.quiet()) << "of another shard";
  b.lose(1, 0, 4);
  EXPECT_TRUE(b.quiet()) << "that is not its backup";
  b.lose(1, 0, 3, 0, 2);
  EXPECT_TRUE(b.quiet()) << "of another view";
  b.lose(1, 2, 3);
  EXPECT_TRUE(b.quiet()) << "there is no such shard";
  b.lose(3, 0, 3);
  EXPECT_TRUE(b.quiet()) << "the backup itself";
  b.on(BackupSaid{1, {1, 0, 3, 0, ""}});
  EXPECT_TRUE(b.quiet()) << "it is filled";
  EXPECT_FALSE(b.all<CoordinatorSays>().empty());
}

TEST(CoordinatorTest, NewsThatComesWhileAViewIsStoredIsNotLost) {
  auto b = first_view();
  b.lose(1, 0, 3);
  EXPECT_EQ(seats(b.decided()), "1 2+4");
  b.lose(2, 1, 4);
  EXPECT_TRUE(b.quiet());
  b.stored();
  EXPECT_EQ(seats(b.decided()), "1 2");
  EXPECT_EQ(b.decided().revision, 2u);
  b.stored();
  EXPECT_EQ(b.told(), (Lives{1, 2}));
  EXPECT_EQ(b.recalled(), (Lives{3, 4}));
}

TEST(CoordinatorTest, ADeathWhileAViewIsStoredIsNotLost) {
  auto b = first_view();
  b.die(3);
  EXPECT_TRUE(b.decides());
  b.die(4);
  EXPECT_TRUE(b.quiet());
  b.stored();
  EXPECT_EQ(seats(b.decided()), "1 2");
}

TEST(CoordinatorTest, NewsOfTheViewBeforeDoesNotCountInTheNext) {
  auto b = second_view_pending();
  b.lose(2, 1, 4);
  b.stored();
  EXPECT_FALSE(b.decides()) << "server 4 begins anew";
  EXPECT_EQ(seats(b.view()), "3+5 2+4*");
  b.lose(2, 1, 4, 0, 2);
  EXPECT_EQ(seats(b.decided()), "3+5 2");
}

TEST(CoordinatorTest, ABackupThatHasLaidDownEndsTheViewWhenNobodyElseDoes) {
  auto b = first_view();
  b.lay_down(3, {slice(0, 5)});
  b.pass(milliseconds(1499));
  EXPECT_TRUE(b.quiet());
  b.pass(milliseconds(1));
  EXPECT_EQ(b.recalled(), (Lives{1, 2, 4})) << "nothing is committed any more";
  b.lay_down(1, {slice(0, 5)});
  b.lay_down(2, {slice(1, 5)});
  b.lay_down(4, {slice(1, 5)});
  EXPECT_EQ(seats(b.decided()), "1+3* 2+4*");
}

TEST(CoordinatorTest, APrimaryIsLostWhileABackupIsTakenIn) {
  auto b = first_view();
  b.die(3);
  b.stored();
  b.attend(5);
  EXPECT_EQ(seats(b.decided()), "1+5 2+4");
  b.die(2);
  EXPECT_EQ(b.recalled(), (Lives{1, 4, 5}));
  b.stored();
  EXPECT_TRUE(b.quiet()) << "that view was laid down meanwhile";
  b.lay_down(1, {slice(0, 5)}, 1, 1);
  b.attend(5);
  b.lay_down(4, {slice(1, 5)}, 1, 1);
  EXPECT_EQ(seats(b.decided()), "1+5 4");
  EXPECT_EQ(b.decided().number, 2u);
}

// The primary was not told to go on without the backup that was being taken out: that has all that was told of.
TEST(CoordinatorTest, APrimaryIsLostWhileItsBackupIsTakenOut) {
  auto b = first_view();
  b.lose(1, 0, 3);
  EXPECT_EQ(seats(b.decided()), "1 2+4");
  b.die(1);
  EXPECT_EQ(b.recalled(), (Lives{2, 3, 4}));
  b.stored();
  EXPECT_TRUE(b.told().empty());
  b.lay_down(2, {slice(1, 5)});
  b.lay_down(3, {slice(0, 5)});
  b.lay_down(4, {slice(1, 5)});
  if (!b.decides()) b.pass(milliseconds(1500));
  EXPECT_TRUE(b.all<GiveUp>().empty());
  EXPECT_EQ(seats(b.decided()), "3 2+4*");
}

// --- who is lost before it has begun ---

TEST(CoordinatorTest, AServerThatDiedBeforeItHeardOfItsView) {
  auto b = second_view_pending();
  b.die(2);
  EXPECT_TRUE(b.quiet());
  b.stored();
  EXPECT_EQ(b.told(), (Lives{3, 4, 5}));
  EXPECT_EQ(b.recalled(2), (Lives{3, 4, 5})) << "view 2 is over as it begins";
  b.lay_down(3, {slice(0, 5, 2)}, 2);
  b.lay_down(4, {slice(1, 5, 2)}, 2);
  b.lay_down(5, {}, 2);
  const auto view = b.decided();
  EXPECT_EQ(view.number, 3u);
  EXPECT_EQ(view.from, 2u);
  EXPECT_EQ(seats(view), "3+5 4");
  EXPECT_EQ(view.networks.at(0), (ServerView::Network{5, standing_of(5)}));
}

TEST(CoordinatorTest, ABackupThatDiedBeforeItHeardOfItsView) {
  auto b = second_view_pending();
  b.die(5);
  b.stored();
  EXPECT_EQ(b.told(), (Lives{2, 3, 4}));
  EXPECT_EQ(seats(b.decided()), "3 2+4*");
  EXPECT_EQ(b.decided().number, 2u);
}

TEST(CoordinatorTest, WhatIsLeftOfTheViewBeforeCountsWhenItIsWhatTheViewBeganWith) {
  auto b = second_view_pending();
  b.vanish(3);
  b.vanish(4);
  b.stored();
  EXPECT_EQ(b.told(), (Lives{2, 5}));
  b.die(2);
  b.lay_down(5, {}, 2);
  b.lay_down(3, {slice(0, 5, 1), slice(0, 6, 1)}, 1);
  b.lay_down(4, {slice(1, 5, 1)}, 1);
  EXPECT_EQ(seats(b.decided()), "3+5 4");
  EXPECT_EQ(b.decided().networks.at(0).version, 5u);
}

TEST(CoordinatorTest, WhatIsLeftOfTheViewBeforeDoesNotCountWhenTheViewBeganWithSomethingElse) {
  auto b = second_view_pending();
  b.vanish(3);
  b.stored();
  b.die(2);
  b.lay_down(4, {slice(1, 5, 2)}, 2);
  b.lay_down(5, {}, 2);
  b.lay_down(3, {slice(0, 4, 1), slice(0, 6, 1)}, 1);
  b.pass(milliseconds(1500));
  EXPECT_FALSE(b.decides());
  EXPECT_EQ(b.all<GiveUp>().size(), 1u);
}

TEST(CoordinatorTest, AfterTheViewHasGoneOnWhatIsLeftOfTheViewBeforeIsOld) {
  auto b = second_view();
  b.die(3);
  // The backup of shard 0 is not filled, and what server 4 has of it from view 1 is of no use.
  b.lay_down(2, {slice(1, 7, 2)}, 2);
  b.lay_down(4, {slice(1, 7, 2)}, 2);
  b.lay_down(5, {slice(0, 7, 1)}, 2);
  b.pass(milliseconds(1500));
  EXPECT_FALSE(b.decides());
  EXPECT_EQ(b.all<GiveUp>().size(), 1u);
}

// Server 4 was taken for the primary of view 3 for what it has of view 1, and has heard of neither view since.
TEST(CoordinatorTest, WhoHasHeardNeitherOfTwoViewsStillHasWhatTheyBeganWith) {
  auto b = second_view_pending();
  b.vanish(4);
  b.stored();
  b.die(2);
  b.lay_down(3, {slice(0, 5, 2)}, 2);
  b.lay_down(5, {}, 2);
  b.lay_down(4, {slice(1, 5, 1)}, 1);
  EXPECT_EQ(seats(b.decided()), "3+5 4");
  EXPECT_EQ(b.decided().number, 3u);
  b.vanish(4);
  b.stored();
  EXPECT_EQ(b.told(), (Lives{3, 5}));
  b.lay_down(3, {slice(0, 5, 3)}, 3);
  b.lay_down(5, {}, 3);
  b.lay_down(4, {slice(1, 5, 1)}, 1);
  if (!b.decides()) b.pass(milliseconds(1500));
  EXPECT_TRUE(b.all<GiveUp>().empty());
  EXPECT_EQ(seats(b.decided()), "3+5 4");
  EXPECT_EQ(b.decided().number, 4u);
}

}  // namespace
}  // namespace yoke::core::coordinating
