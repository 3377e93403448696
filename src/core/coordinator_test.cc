// Who hosts what, and from what it goes on: a coordinator driven by hand, and what it decides written down by hand.
#include "core/coordinator.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

namespace yoke::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::Attend;
using wire::Holding;
using wire::Host;
using wire::Incarnation;
using wire::ServerView;
using wire::ShardId;
using wire::Standing;
using wire::Version;

using Lives = std::set<Incarnation>;

Host host(Incarnation life) { return {life, "place " + std::to_string(life)}; }

Standing standing_of(Version version) { return {.version = version, .samples = 100 + version}; }

// A slice of the first of the networks, of two shards.
Holding slice(ShardId shard, Version version, std::uint64_t view = 1) {
  return {view, 0, shard, 2, version, standing_of(version)};
}

// Primary, backup, and a star where that is filled: "1+3 2+4*".
std::string seats(const ServerView& view) {
  std::string text;
  for (const auto& shard : view.shards) {
    text += (text.empty() ? "" : " ") + std::to_string(shard.primary.life);
    if (shard.backup) text += "+" + std::to_string(shard.backup->life) + (shard.filled ? "*" : "");
    EXPECT_EQ(shard.primary, host(shard.primary.life));
    EXPECT_EQ(shard.backup.value_or(host(0)), host(shard.backup.value_or(host(0)).life));
  }
  return text;
}

CoordinatorOptions two_shards(std::uint32_t backups = 1) {
  return {.shards = 2, .backups = backups, .patience = milliseconds(1500), .gathering = seconds(5)};
}

struct Bench {
  explicit Bench(CoordinatorOptions options = two_shards(), std::optional<ServerView> stored = {})
      : coordinator(std::move(options), std::move(stored)) {}

  void on(const CoordinatorEvent& event) {
    if (const auto* attended = std::get_if<Attended>(&event)) connected.insert(attended->host.life);
    if (const auto* departed = std::get_if<Departed>(&event)) connected.erase(departed->life);
    out.clear();
    coordinator.on(event, now, out);
  }
  void attend(Incarnation life, Attend said = {}) { on(Attended{host(life), std::move(said)}); }
  void serve(Incarnation life, const ServerView& view) { attend(life, {.serves = view}); }
  void serve(Incarnation life) { serve(life, view()); }
  void lay_down(Incarnation life, std::vector<Holding> holdings, std::uint64_t number = 1, std::uint64_t revision = 0) {
    attend(life, {.laid_down = number,
                  .laid_revision = revision,
                  .holdings = std::move(holdings),
                  .why = "server " + std::to_string(life) + " has laid it down"});
  }
  void die(Incarnation life) { on(Departed{life, true, "server " + std::to_string(life) + " is dead"}); }
  void vanish(Incarnation life) { on(Departed{life, false, "its connection is gone"}); }
  void lose(Incarnation primary, ShardId shard, Incarnation backup, std::uint64_t since = 0, std::uint64_t number = 1) {
    on(BackupSaid{primary, {number, shard, backup, since, "its connection is gone"}});
  }
  void stored() { on(Stored{}); }
  void pass(Duration duration) {
    now += duration;
    on(Tick{});
  }

  template <class T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const auto& effect : out)
      if (const auto* e = std::get_if<T>(&effect)) found.push_back(*e);
    return found;
  }
  bool decides() const { return !all<Store>().empty(); }
  // The view that is to be stored, and is the only one.
  ServerView decided() const {
    const auto stores = all<Store>();
    EXPECT_EQ(stores.size(), 1u);
    return stores.empty() ? ServerView{} : stores[0].view;
  }
  // Who hears of the view that stands.
  Lives told() const {
    Lives lives;
    for (const auto& tell : all<TellView>()) {
      if (!connected.contains(tell.to)) continue;
      EXPECT_TRUE(lives.insert(tell.to).second) << "twice";
      EXPECT_EQ(tell.view, view());
    }
    return lives;
  }
  // Who is to lay this view down.
  Lives recalled(std::uint64_t number = 1) const {
    Lives lives;
    for (const auto& tell : all<TellRecall>()) {
      EXPECT_TRUE(lives.insert(tell.to).second) << "twice";
      EXPECT_EQ(tell.recall.view, number);
      EXPECT_FALSE(tell.recall.why.empty());
    }
    return lives;
  }
  Lives probed() const {
    Lives lives;
    for (const auto& probe : all<Probe>()) {
      lives.insert(probe.host.life);
      EXPECT_EQ(probe.host, host(probe.host.life));
    }
    return lives;
  }
  // Nobody hears of anything, and nothing is to be done. What a person reads does not count.
  bool quiet() const { return out.size() == all<CoordinatorSays>().size(); }
  ServerView view() const { return coordinator.view().value_or(ServerView{}); }

  Coordinator coordinator;
  Lives connected;
  Time now = seconds(100);
  CoordinatorEffects out;
};

// The first view of two shards with backups stands: "1+3 2+4", and servers up to `last` are idle.
Bench first_view(Incarnation last = 4) {
  Bench b;
  for (Incarnation life = 1; life <= 4; ++life) b.attend(life);
  b.stored();
  for (Incarnation life = 5; life <= last; ++life) b.attend(life);
  EXPECT_EQ(seats(b.view()), "1+3 2+4");
  return b;
}

// The same without backups: "1 2".
Bench first_view_without_backups(Incarnation last = 2) {
  Bench b(two_shards(0));
  for (Incarnation life = 1; life <= 2; ++life) b.attend(life);
  b.stored();
  for (Incarnation life = 3; life <= last; ++life) b.attend(life);
  EXPECT_EQ(seats(b.view()), "1 2");
  return b;
}

// And the first primary is dead, its backup was filled: "3+5 2+4*", at version 5. Decided, not stored.
Bench second_view_pending() {
  auto b = first_view(5);
  b.die(1);
  b.lay_down(2, {slice(1, 5)});
  b.lay_down(3, {slice(0, 5)});
  b.lay_down(4, {slice(1, 5)});
  EXPECT_EQ(seats(b.decided()), "3+5 2+4*");
  return b;
}

Bench second_view() {
  auto b = second_view_pending();
  b.stored();
  EXPECT_EQ(b.view().number, 2u);
  return b;
}

// As a coordinator before has stored it.
ServerView stored_view(std::uint64_t number = 1, std::uint64_t revision = 0) {
  ServerView view{.number = number, .revision = revision, .from = number - 1};
  view.shards = {{host(1), host(3)}, {host(2), host(4)}};
  return view;
}

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

// FINDING: a backup that had no connection when the view was stored is told all the same.
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

// FINDING: the backup that is being taken out has all that was told of, for the primary was not told to go on without
// it, and never will be. It is forgotten all the same, and the parameters are given up.
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

// FINDING: server 4 was taken for the primary of view 3 for what it has, version 5 of view 1. That it did not hear of
// view 3 either makes no difference to it, and still it is taken for one that has nothing.
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

// FINDING: the view that was taken over is overwritten by the one that was being stored: the idle servers begin another
// first view beside the one that is at work, and nobody is recalled from that.
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

// FINDING: the older view was over, and so the newer one is taken for over, and is ended although it is at work.
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

// FINDING: a server of an older view that was there before the newer one was heard of is not recalled; it stays at what
// is over, and is nobody's backup, until the view changes.
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

// FINDING: what the first server says once is passed over while a view is being stored; the job does not end.
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

// FINDING: a backup that has lost its primary, who has just finished, has laid the view down: it is not told that the
// job is over, and waits for ever.
TEST(CoordinatorTest, WhoHasLaidDownIsToldThatTheJobIsOver) {
  auto b = first_view();
  b.lay_down(3, {slice(0, 5)});
  b.on(JobOver{1});
  EXPECT_TRUE(b.decided().over);
  b.stored();
  EXPECT_EQ(b.told(), (Lives{1, 2, 3, 4}));
}

// FINDING: a primary that is gone before the end is stored ends the view, and then nobody is told of either.
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
}  // namespace yoke::core
