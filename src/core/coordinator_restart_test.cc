// A coordinator that comes after another, goes on from a checkpoint, does not rule, or has nothing more to do.
#include "core/coordinating.h"

namespace yoke::core::coordinating {
namespace {

// --- the coordinator is started again ---

TEST(CoordinatorTest, ARestartChangesNothing) {
  const auto view = stored_view(3, 2);
  Bench b(two_shards(), view);
  EXPECT_FALSE(b.coordinator.forming());
  for (Incarnation life = 1; life <= 4; ++life) {
    b.serve(life, view);
    EXPECT_TRUE(b.quiet()) << life;
  }
  b.pass(seconds(1000));
  EXPECT_TRUE(b.quiet());
  EXPECT_EQ(b.view(), view);
  b.attend(5);
  b.die(1);
  EXPECT_EQ(b.recalled(3), (Lives{2, 3, 4, 5})) << "and it rules like the one before";
}

TEST(CoordinatorTest, AfterARestartWhoHasAnOlderRevisionIsTold) {
  auto old = stored_view(3, 1);
  old.shards.at(0).backup.reset();
  auto view = stored_view(3, 2);
  view.shards.at(0).since = 2;
  Bench b(two_shards(), view);
  b.serve(1, old);
  EXPECT_EQ(b.told(), Lives{1});
  b.attend(3);
  EXPECT_EQ(b.told(), Lives{3});
  b.serve(2, view);
  EXPECT_TRUE(b.quiet());
}

TEST(CoordinatorTest, AfterARestartWhoIsMissingIsProbed) {
  Bench b(two_shards(), stored_view());
  b.serve(1);
  b.serve(4);
  b.pass(seconds(1));
  EXPECT_EQ(b.probed(), (Lives{2, 3}));
  b.die(3);
  EXPECT_EQ(seats(b.decided()), "1 2+4") << "a backup";
  b.stored();
  EXPECT_EQ(b.told(), (Lives{1, 4}));
  b.pass(seconds(1));
  EXPECT_EQ(b.probed(), Lives{2});
  EXPECT_FALSE(b.coordinator.forming());
  b.die(2);
  EXPECT_EQ(b.recalled(), (Lives{1, 4})) << "a primary";
  b.lay_down(1, {slice(0, 5)}, 1, 1);
  b.lay_down(4, {slice(1, 5)}, 1, 1);
  EXPECT_EQ(seats(b.decided()), "1 4");
  b.pass(seconds(1));
  EXPECT_TRUE(b.probed().empty()) << "who is dead is not asked";
}

TEST(CoordinatorTest, AfterARestartServersThatHaveLaidDownEndTheView) {
  Bench b(two_shards(), stored_view());
  b.lay_down(4, {slice(1, 5)});
  b.serve(1);
  EXPECT_TRUE(b.quiet());
  b.lay_down(2, {slice(1, 5)});
  EXPECT_EQ(b.recalled(), Lives{1});
  b.lay_down(1, {slice(0, 5)});
  b.die(3);
  EXPECT_EQ(seats(b.decided()), "1 2+4*");
}

TEST(CoordinatorTest, AServerServesANewerViewThanTheStoreHas) {
  Bench b(two_shards(), stored_view(3));
  auto newer = stored_view(5, 1);
  newer.shards.at(0) = {host(3), host(5)};
  b.serve(3, newer);
  EXPECT_TRUE(b.quiet());
  EXPECT_EQ(b.view(), newer);
  b.serve(2, newer);
  EXPECT_TRUE(b.quiet());
  b.serve(1, stored_view(3));
  EXPECT_EQ(b.recalled(3), Lives{1}) << "it is not in it";
  b.die(3);
  EXPECT_EQ(b.recalled(5), (Lives{1, 2}));
}

TEST(CoordinatorTest, AServerServesANewerRevisionThanTheStoreHas) {
  Bench b(two_shards(), stored_view(3, 1));
  auto newer = stored_view(3, 2);
  newer.shards.at(0).backup.reset();
  b.serve(1, newer);
  EXPECT_TRUE(b.quiet());
  EXPECT_EQ(b.view(), newer);
  b.serve(2, stored_view(3, 1));
  EXPECT_EQ(b.told(), Lives{2});
}

TEST(CoordinatorTest, AServerServesAViewAndTheStoreHasNone) {
  Bench b;
  b.attend(6);
  b.serve(1, stored_view(3));
  EXPECT_TRUE(b.quiet());
  EXPECT_EQ(b.view(), stored_view(3));
  EXPECT_FALSE(b.coordinator.forming());
}

// A view that was taken over is not replaced by an older one that was being stored.
TEST(CoordinatorTest, AServerServesANewerViewThanTheOneThatIsBeingStored) {
  Bench b(two_shards(0));
  b.attend(6);
  b.attend(7);
  EXPECT_EQ(seats(b.decided()), "6 7");
  b.serve(1, stored_view(3));
  EXPECT_EQ(b.view().number, 3u);
  b.stored();
  EXPECT_TRUE(b.told().empty());
  EXPECT_EQ(b.view().number, 3u);
}

// That the older view was over says nothing of the newer one, which is at work.
TEST(CoordinatorTest, AServerServesANewerViewThanTheOneThatIsOver) {
  Bench b(two_shards(), stored_view(3));
  b.pass(seconds(1));
  b.die(1);
  EXPECT_TRUE(b.coordinator.forming());
  auto newer = stored_view(4);
  newer.shards.at(0) = {host(3), {}};
  b.serve(3, newer);
  EXPECT_TRUE(b.recalled(4).empty());
  EXPECT_FALSE(b.coordinator.forming());
}

// A server of an older view, there before the newer one was heard of, is recalled.
TEST(CoordinatorTest, WhoServesAnOlderViewIsRecalledWhenTheNewerIsHeardOf) {
  Bench b(two_shards(), stored_view(3));
  b.serve(1, stored_view(3));
  EXPECT_TRUE(b.quiet());
  auto newer = stored_view(4);
  newer.shards.at(0) = {host(3), {}};
  b.serve(3, newer);
  EXPECT_EQ(b.recalled(3), Lives{1});
}

// --- from a checkpoint ---

TEST(CoordinatorTest, WhatIsLostIsRestoredFromTheNewestCheckpointThatAnybodyHas) {
  auto b = first_view_without_backups(4);
  b.die(1);
  EXPECT_EQ(b.recalled(), (Lives{2, 3, 4}));
  b.attend(2, {.laid_down = 1, .holdings = {slice(1, 9)}, .checkpoint = 4});
  b.attend(3, {.checkpoint = 8});
  b.attend(4, {.checkpoint = 6});
  b.attend(5, {.checkpoint = 9});
  b.vanish(5);
  EXPECT_TRUE(b.quiet());
  b.pass(milliseconds(1499));
  EXPECT_TRUE(b.quiet()) << "somebody may have a newer one";
  b.pass(milliseconds(1));
  const auto view = b.decided();
  EXPECT_EQ(view.number, 2u);
  EXPECT_EQ(view.restore, Version{8}) << "of those that are there";
  EXPECT_TRUE(view.networks.empty()) << "all of it is one version";
  EXPECT_EQ(seats(view), "3 2");
  b.stored();
  EXPECT_EQ(b.told(), (Lives{2, 3}));
}

TEST(CoordinatorTest, ACheckpointThatWasTakenMeanwhileCounts) {
  auto b = first_view_without_backups();
  b.attend(3, {.checkpoint = 4});
  b.die(1);
  b.attend(2, {.laid_down = 1, .holdings = {slice(1, 9)}, .checkpoint = 8});
  b.attend(3, {.checkpoint = 8});
  b.pass(milliseconds(1500));
  EXPECT_EQ(b.decided().restore, Version{8});
}

TEST(CoordinatorTest, WithBackupsThatAreNotFilledACheckpointServesAsWell) {
  auto b = first_view(5);
  b.die(1);
  b.attend(2, {.laid_down = 1, .holdings = {slice(1, 9)}, .checkpoint = 8});
  b.attend(3, {.laid_down = 1, .checkpoint = 8});
  b.attend(4, {.laid_down = 1, .holdings = {slice(1, 9)}, .checkpoint = 8});
  b.pass(milliseconds(1500));
  EXPECT_EQ(seats(b.decided()), "3+5 2+4") << "nobody is filled";
  EXPECT_EQ(b.decided().restore, Version{8});
}

TEST(CoordinatorTest, ARestoredViewThatIsLaidDownAtOnceIsRestoredAgain) {
  auto b = first_view_without_backups(3);
  b.die(1);
  b.attend(2, {.laid_down = 1, .holdings = {slice(1, 9)}, .checkpoint = 8});
  b.pass(milliseconds(1500));
  b.stored();
  EXPECT_EQ(seats(b.view()), "3 2");
  b.lay_down(2, {}, 2);
  b.lay_down(3, {}, 2);
  EXPECT_EQ(b.decided().number, 3u);
  EXPECT_EQ(b.decided().restore, Version{8});
  EXPECT_EQ(seats(b.decided()), "3 2");
}

TEST(CoordinatorTest, WithoutAnotherServerItIsWaitedForOne) {
  auto b = first_view_without_backups();
  b.die(1);
  b.attend(2, {.laid_down = 1, .holdings = {slice(1, 9)}, .checkpoint = 8});
  b.pass(seconds(1000));
  EXPECT_TRUE(b.quiet());
  EXPECT_EQ(b.coordinator.waiting_for(), "another server, in the place of one that is gone");
  b.attend(3);
  EXPECT_EQ(seats(b.decided()), "3 2");
  EXPECT_EQ(b.decided().restore, Version{8});
}

TEST(CoordinatorTest, WithoutACheckpointItIsGivenUp) {
  auto b = first_view_without_backups(3);
  b.die(1);
  b.lay_down(2, {slice(1, 9)});
  b.attend(3);
  EXPECT_TRUE(b.quiet());
  b.pass(milliseconds(1500));
  const auto given_up = b.all<GiveUp>();
  ASSERT_EQ(given_up.size(), 1u);
  for (const auto* word : {"server 1 is dead", "--backups 1", "--checkpoint"})
    EXPECT_NE(given_up[0].why.find(word), std::string::npos) << given_up[0].why;
  EXPECT_FALSE(b.decides());
  b.attend(4, {.checkpoint = 8});
  EXPECT_TRUE(b.out.empty()) << "everybody was told that it is";
  b.pass(seconds(10));
  EXPECT_TRUE(b.out.empty());
}

// What one that is idle said long ago is old: it is heard first.
TEST(CoordinatorTest, ItIsNotGivenUpBeforeThoseThatAreIdleHaveSaidAnewWhatThereIs) {
  auto b = first_view_without_backups(3);
  b.pass(seconds(60));
  b.die(1);
  EXPECT_EQ(b.recalled(), (Lives{2, 3}));
  b.lay_down(2, {slice(1, 9)});
  b.pass(seconds(10));
  EXPECT_TRUE(b.quiet());
  EXPECT_NE(b.coordinator.waiting_for().find("place 3"), std::string::npos) << b.coordinator.waiting_for();
  b.attend(3, {.checkpoint = 8});
  EXPECT_EQ(seats(b.decided()), "3 2");
  EXPECT_EQ(b.decided().restore, Version{8});
}

// --- from a replica ---

Holding values(ShardId shard, Version version, std::uint64_t view = 1) { return {view, 0, shard, 2, version, {}}; }

// Server 2 is lost with shard 1; server 3 is idle, and shard 0 has these.
Bench lost_without_backup(std::vector<Holding> left) {
  auto b = first_view_without_backups(3);
  b.die(2);
  b.lay_down(1, std::move(left));
  b.attend(3, {.checkpoint = 4});
  return b;
}

TEST(CoordinatorTest, WhatAReplicaHasInFullIsNotTakenFromTheCheckpoint) {
  auto b = lost_without_backup({slice(0, 9)});
  EXPECT_TRUE(b.quiet());
  b.on(ReplicaSaid{{values(0, 9), values(1, 9)}});
  const auto view = b.decided();
  EXPECT_EQ(seats(view), "1 3");
  EXPECT_FALSE(view.restore);
  ASSERT_EQ(view.networks.size(), 1u);
  EXPECT_EQ(view.networks[0].version, Version{9});
  EXPECT_EQ(view.networks[0].standing, standing_of(9)) << "where training stands a server has to know";
  EXPECT_FALSE(view.shards[0].brought);
  EXPECT_TRUE(view.shards[1].brought);
}

TEST(CoordinatorTest, AReplicaWithAnOlderVersionIsOfNoUse) {
  auto b = lost_without_backup({slice(0, 9)});
  b.on(ReplicaSaid{{values(0, 9), values(1, 8)}});
  EXPECT_TRUE(b.quiet());
  b.on(ReplicaSaid{{values(1, 9)}});
  EXPECT_EQ(b.decided().networks.at(0).version, Version{9}) << "another may have it";
}

// Version 10 is made and not told of: the first server would know.
TEST(CoordinatorTest, TheFirstServerKnowsWhichVersionWasToldOfLast) {
  auto b = lost_without_backup({slice(0, 9), slice(0, 10)});
  b.on(ReplicaSaid{{values(1, 9)}});
  EXPECT_EQ(b.decided().networks.at(0).version, Version{9});
}

// The first server is lost, and version 10 may have been told of: nobody goes back behind that in memory.
TEST(CoordinatorTest, WithoutTheFirstServerAVersionThatMayHaveBeenToldOfIsNotForgotten) {
  for (const bool made : {false, true}) {
    auto b = first_view_without_backups(3);
    b.die(1);
    std::vector<Holding> left{slice(1, 9)};
    if (made) left.push_back(slice(1, 10));
    b.lay_down(2, left);
    b.attend(3, {.checkpoint = 4});
    b.on(ReplicaSaid{{values(0, 9)}});
    EXPECT_EQ(b.decides(), !made);
    if (!made) continue;
    b.pass(milliseconds(1500));
    EXPECT_EQ(b.decided().restore, Version{4});
  }
}

TEST(CoordinatorTest, WhatAReplicaHasOfAnotherViewOrSaidBeforeIsOfNoUse) {
  auto b = first_view_without_backups(3);
  b.on(ReplicaSaid{{values(1, 9)}});
  b.die(2);
  b.lay_down(1, {slice(0, 9)});
  b.attend(3, {.checkpoint = 4});
  b.on(ReplicaSaid{{values(1, 9, 7)}});
  EXPECT_TRUE(b.quiet()) << "after a checkpoint the versions are counted again";
  b.pass(milliseconds(1500));
  EXPECT_EQ(b.decided().restore, Version{4});
}

// A network whose only shard is lost, with all who had it: whoever is left knows that there was one.
TEST(CoordinatorTest, ANetworkThatNobodyHasIsNotForgotten) {
  auto b = first_view_without_backups(3);
  b.die(1);
  b.attend(2, {.laid_down = 1, .holdings = {slice(1, 9)}, .networks = 2});
  b.attend(3, {.checkpoint = 4});
  b.on(ReplicaSaid{{values(0, 9)}});
  EXPECT_TRUE(b.quiet());
  b.pass(milliseconds(1500));
  EXPECT_EQ(b.decided().restore, Version{4});
}

// Its primary is to get the values from a replica, and has not heard of it: what it has is from another time.
TEST(CoordinatorTest, WhoIsToBeBroughtAShardDoesNotHaveIt) {
  auto b = lost_without_backup({slice(0, 9)});
  b.on(ReplicaSaid{{values(1, 9)}});
  b.stored();
  b.die(1);
  b.attend(4, {.checkpoint = 4});
  b.lay_down(3, {slice(1, 9)});
  b.pass(milliseconds(1500));
  EXPECT_EQ(b.decided().restore, Version{4});
}

TEST(CoordinatorTest, WhereNobodyKnowsHowTrainingStandsAReplicaIsOfNoUse) {
  auto without = slice(0, 9);
  without.standing.reset();
  auto b = lost_without_backup({without});
  b.on(ReplicaSaid{{values(1, 9)}});
  EXPECT_TRUE(b.quiet());
  b.pass(milliseconds(1500));
  EXPECT_EQ(b.decided().restore, Version{4});
}

// --- from one that has lost its place ---

// The backup of shard 1 was taken out, and then its primary is lost: nobody has gone on since.
TEST(CoordinatorTest, WhatABackupHasThatWasTakenOutIsGoneOnFromWhereNobodyIsFurther) {
  for (const Version others : {9, 10}) {
    auto b = first_view();
    b.lose(2, 1, 4);
    b.stored();
    b.die(2);
    b.lay_down(4, {slice(1, 9)});
    b.lay_down(1, {slice(0, others)});
    b.lay_down(3, {slice(0, others)});
    if (others == 9) {
      EXPECT_EQ(seats(b.decided()), "1+3* 4");
      EXPECT_EQ(b.decided().networks.at(0).version, Version{9});
      EXPECT_FALSE(b.decided().shards[1].brought);
    } else {
      EXPECT_FALSE(b.decides());
      b.pass(milliseconds(1500));
      EXPECT_EQ(b.all<GiveUp>().size(), 1u) << "its primary has gone on without it";
    }
  }
}

// The first server may have told of version 10, which it had made.
TEST(CoordinatorTest, WhatABackupHasThatWasTakenOutIsOfNoUseWhereMoreMayHaveBeenTold) {
  auto b = first_view();
  b.lose(2, 1, 4);
  b.stored();
  b.die(1);
  b.die(2);
  b.lay_down(4, {slice(1, 9)});
  b.lay_down(3, {slice(0, 9), slice(0, 10)});
  b.pass(milliseconds(1500));
  EXPECT_EQ(b.all<GiveUp>().size(), 1u);
}

// Shard 1 is given to server 4, which is dead by then; its former primary comes late, with what the view begins with.
TEST(CoordinatorTest, AFormerPrimaryHasWhatAViewBeganWithThatNeverBegan) {
  auto b = first_view();
  b.lay_down(1, {slice(0, 9)});
  b.lay_down(3, {slice(0, 9)});
  b.lay_down(4, {slice(1, 9)});
  b.pass(milliseconds(1500));
  EXPECT_EQ(seats(b.decided()), "1+3* 4") << "server 2 is silent";
  b.stored();
  b.die(4);
  b.lay_down(2, {slice(1, 9)});
  b.lay_down(1, {slice(0, 9, 2)}, 2);
  EXPECT_FALSE(b.decides());
  b.lay_down(3, {slice(0, 9, 2)}, 2);
  EXPECT_EQ(b.decided().number, 3u);
  EXPECT_EQ(seats(b.decided()), "1+3* 2");
}

TEST(CoordinatorTest, WhereThereIsOneShardNobodyKnowsWhetherItHasGoneOn) {
  auto options = two_shards();
  options.shards = 1;
  Bench b(options);
  b.attend(1);
  b.attend(2);
  b.stored();
  b.lose(1, 0, 2);
  b.stored();
  b.die(1);
  b.lay_down(2, {slice(0, 9)});
  b.pass(milliseconds(1500));
  EXPECT_EQ(b.all<GiveUp>().size(), 1u);
}

// --- who does not rule ---

TEST(CoordinatorTest, WhoCannotStoreDoesNotRule) {
  auto b = first_view();
  b.die(3);
  EXPECT_TRUE(b.decides());
  b.on(Stored{false, "another has stored view 2"});
  const auto given_up = b.all<GiveUp>();
  ASSERT_EQ(given_up.size(), 1u);
  EXPECT_NE(given_up[0].why.find("another has stored view 2"), std::string::npos);
  EXPECT_EQ(b.out.size(), 1u) << "nobody is told of anything";
  EXPECT_EQ(seats(b.view()), "1+3 2+4");
  b.stored();
  EXPECT_TRUE(b.out.empty());
  b.die(1);
  EXPECT_TRUE(b.out.empty());
  b.lay_down(2, {slice(1, 5)});
  EXPECT_TRUE(b.out.empty());
  b.on(JobOver{1});
  EXPECT_TRUE(b.out.empty());
  b.pass(seconds(10));
  EXPECT_TRUE(b.out.empty());
}

// --- the end ---

TEST(CoordinatorTest, TheFirstPrimarySaysThatTheJobIsOver) {
  auto b = first_view(5);
  for (const Incarnation life : {2u, 3u, 5u, 9u}) {
    b.on(JobOver{life});
    EXPECT_TRUE(b.quiet()) << life;
  }
  b.on(JobOver{1});
  const auto view = b.decided();
  EXPECT_TRUE(view.over);
  EXPECT_EQ(view.number, 1u);
  EXPECT_EQ(view.revision, 1u);
  EXPECT_EQ(seats(view), "1+3 2+4");
  EXPECT_TRUE(b.told().empty());
  b.stored();
  EXPECT_EQ(b.told(), (Lives{1, 2, 3, 4, 5})) << "who is idle as well";
  b.on(JobOver{1});
  EXPECT_TRUE(b.quiet());
}

TEST(CoordinatorTest, WhenTheJobIsOverWhoeverComesIsTold) {
  auto b = first_view();
  const auto before = b.view();
  b.vanish(2);
  b.on(JobOver{1});
  b.attend(5);
  EXPECT_TRUE(b.quiet());
  b.stored();
  EXPECT_EQ(b.told(), (Lives{1, 3, 4, 5}));
  b.attend(6);
  EXPECT_EQ(b.told(), Lives{6});
  b.serve(2, before);
  EXPECT_EQ(b.told(), Lives{2});
  b.lay_down(3, {slice(0, 5)});
  EXPECT_EQ(b.told(), Lives{3});
  b.die(1);
  b.die(2);
  b.pass(seconds(1000));
  EXPECT_TRUE(b.quiet()) << "who goes then is not missed";
}

TEST(CoordinatorTest, AfterARestartTheJobIsStillOver) {
  auto over = stored_view();
  over.over = true;
  Bench b(two_shards(), over);
  b.pass(seconds(1));
  EXPECT_TRUE(b.quiet());
  b.serve(1, stored_view());
  EXPECT_EQ(b.told(), Lives{1});
  b.attend(5);
  EXPECT_EQ(b.told(), Lives{5});
  b.die(2);
  EXPECT_TRUE(b.quiet());
}

// The first server says it once: it is remembered while a view is being stored.
TEST(CoordinatorTest, TheJobIsOverWhileAViewIsStored) {
  auto b = first_view();
  b.die(3);
  EXPECT_TRUE(b.decides());
  b.on(JobOver{1});
  EXPECT_TRUE(b.quiet());
  b.stored();
  EXPECT_TRUE(b.decided().over);
  EXPECT_EQ(b.decided().revision, 2u);
}

// A backup whose primary has just finished has laid the view down: it hears of the end as well.
TEST(CoordinatorTest, WhoHasLaidDownIsToldThatTheJobIsOver) {
  auto b = first_view();
  b.lay_down(3, {slice(0, 5)});
  b.on(JobOver{1});
  EXPECT_TRUE(b.decided().over);
  b.stored();
  EXPECT_EQ(b.told(), (Lives{1, 2, 3, 4}));
}

// A primary that is gone before the end is stored does not keep the others from hearing of it.
TEST(CoordinatorTest, APrimaryThatGoesBeforeTheEndIsStoredDoesNotKeepItFromTheOthers) {
  auto b = first_view(5);
  b.on(JobOver{1});
  EXPECT_TRUE(b.decided().over);
  b.die(1);
  b.lay_down(2, {slice(1, 5)});
  b.lay_down(3, {slice(0, 5)});
  b.stored();
  EXPECT_TRUE(b.view().over);
  EXPECT_EQ(b.told(), (Lives{2, 3, 4, 5}));
}

}  // namespace
}  // namespace yoke::core::coordinating
