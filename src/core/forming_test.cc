// Who may go on, and from what: written down by hand.
#include "core/forming.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace yoke::core {
namespace {

using wire::Holding;
using wire::Version;

constexpr std::uint32_t kShards = 4;

wire::Standing standing_at(Version version) { return {.version = version, .samples = 100 + version}; }

Holding slice(wire::ShardId shard, Version version, std::uint64_t view = 1, std::uint32_t shards = kShards) {
  return {view, 0, shard, shards, version, standing_at(version)};
}

// The replica in this place of a view of four: its own slice, and the twin of the one before, at these versions.
Caller member(wire::ReplicaId replica, std::vector<Version> own, std::vector<Version> twin, std::uint64_t view = 1) {
  Caller caller{{replica, "at " + std::to_string(replica)}, {}};
  for (const auto version : own) caller.holdings.push_back(slice(replica, version, view));
  for (const auto version : twin) caller.holdings.push_back(slice((replica + kShards - 1) % kShards, version, view));
  return caller;
}

Caller newcomer(wire::ReplicaId replica) { return {{replica, "at " + std::to_string(replica)}, {}}; }

Attendance of_four(std::vector<Caller> here, std::set<wire::ReplicaId> dead = {}) {
  return {1, {0, 1, 2, 3}, 0, std::move(here), std::move(dead)};
}

bool may_go_on(std::vector<wire::ReplicaId> here, std::set<wire::ReplicaId> dead) {
  auto attendance = of_four({}, std::move(dead));
  for (const auto replica : here) attendance.here.push_back(member(replica, {5}, {5}));
  return core::may_go_on(attendance);
}

std::vector<wire::ReplicaId> replicas(const wire::View& view) {
  std::vector<wire::ReplicaId> replicas;
  for (const auto& seat : view.members) replicas.push_back(seat.replica);
  return replicas;
}

// Who each slice comes from, by shard.
std::vector<wire::ReplicaId> sources(const wire::View& view) {
  std::vector<wire::ReplicaId> replicas;
  for (const auto place : view.networks.at(0).sources) replicas.push_back(view.members.at(place).replica);
  return replicas;
}

using Replicas = std::vector<wire::ReplicaId>;

TEST(FormingTest, MostOfThoseThatMayLiveGoOn) {
  EXPECT_TRUE(may_go_on({0, 1, 2, 3}, {}));
  EXPECT_TRUE(may_go_on({1, 2, 3}, {})) << "the one that is missing may live: it is alone";
  EXPECT_FALSE(may_go_on({1}, {})) << "the other three may have gone on";
  EXPECT_FALSE(may_go_on({}, {}));
}

TEST(FormingTest, OfTwoHalvesTheOneWithTheFormerFirst) {
  EXPECT_TRUE(may_go_on({0, 2}, {}));
  EXPECT_FALSE(may_go_on({1, 3}, {}));
  EXPECT_TRUE(may_go_on({0}, {1, 2})) << "one against one";
  EXPECT_FALSE(may_go_on({3}, {1, 2}));
  auto other_order = of_four({member(3, {5}, {5}), member(1, {5}, {5})});
  other_order.former = {3, 0, 1, 2};
  EXPECT_TRUE(core::may_go_on(other_order)) << "the first, not the lowest";
}

TEST(FormingTest, WhoIsCertainlyDeadDoesNotCount) {
  EXPECT_TRUE(may_go_on({1, 3}, {0}));
  EXPECT_TRUE(may_go_on({3}, {0, 1, 2}));
  EXPECT_FALSE(may_go_on({3}, {0, 1})) << "one against one, and the first is dead";
}

TEST(FormingTest, NewcomersHaveNoSay) {
  auto attendance = of_four({member(1, {5}, {5}), newcomer(7), newcomer(8), newcomer(9)});
  EXPECT_FALSE(core::may_go_on(attendance));
  attendance.dead = {0, 2};
  EXPECT_FALSE(core::may_go_on(attendance));
  attendance.dead = {0, 2, 3};
  EXPECT_TRUE(core::may_go_on(attendance));
}

TEST(FormingTest, GoesOnFromTheNewestVersionThatIsWhole) {
  const auto view = form(
      of_four({member(0, {5, 6}, {5, 6}), member(1, {5}, {5, 6}), member(2, {5, 6}, {5}), member(3, {5, 6}, {5, 6})}));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->networks.at(0).version, 5u) << "nobody has slice 1 of version 6";
  EXPECT_EQ(view->networks.at(0).standing, standing_at(5));
  EXPECT_EQ(sources(*view), (Replicas{0, 1, 2, 0}));
  EXPECT_EQ(view->number, 2u);
  EXPECT_EQ(view->from, 1u);
  const auto all =
      form(of_four({member(0, {5, 6}, {5}), member(1, {5, 6}, {5}), member(2, {6}, {6}), member(3, {5, 6}, {5, 6})}));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->networks.at(0).version, 6u) << "whether it was committed or not";
  EXPECT_EQ(all->networks.at(0).standing, standing_at(6));
}

TEST(FormingTest, TheTwinStandsInForWhoIsLost) {
  const auto view = form(of_four({member(0, {6}, {6}), member(2, {5, 6}, {5, 6}), member(3, {6}, {6})}, {1}));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->networks.at(0).version, 6u);
  EXPECT_EQ(sources(*view), (Replicas{0, 2, 2, 0}));
  const auto two = form(of_four({member(1, {6}, {6}), member(3, {6}, {6})}, {0, 2}));
  ASSERT_TRUE(two) << "any that are no neighbours";
  EXPECT_EQ(sources(*two), (Replicas{1, 1, 3, 3}));
}

TEST(FormingTest, ASliceThatIsLostWithBothWhoHeldItIsAnError) {
  const auto view = form(of_four({member(0, {6}, {6}), member(3, {6}, {6})}, {1, 2}));
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, Code::peer_down);
  EXPECT_NE(view.error().message.find("both replicas that held it"), std::string::npos);
}

// Replica 2 is lost in view 1, then another before view 2, of the three that are left, has made anything: its slices
// have no twins yet.
TEST(FormingTest, FallsBackToTheViewBeforeWhenTheNewerIsNotWhole) {
  std::map<wire::ReplicaId, Caller> left;
  for (const wire::ReplicaId place : {0u, 1u, 2u}) {
    const auto replica = place < 2 ? place : 3;
    left[replica] = member(replica, {5}, {5});
    left[replica].holdings.push_back(slice(place, 5, 2, 3));
  }
  const Attendance none_more{2, {0, 1, 3}, 0, {left[0], left[1], left[3]}, {}};
  EXPECT_EQ(form(none_more)->from, 2u);
  const auto view = form({2, {0, 1, 3}, 0, {left[1], left[3]}, {0}});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->from, 1u);
  EXPECT_EQ(view->number, 3u) << "the one that was given up had a number, too";
  EXPECT_EQ(view->networks.at(0).version, 5u);
  EXPECT_EQ(sources(*view), (Replicas{1, 1, 3, 3}));
  EXPECT_FALSE(form({2, {0, 1, 3}, 0, {left[0], left[3]}, {1}})) << "replicas 1 and 2 were neighbours";
}

TEST(FormingTest, TheNewerViewComesBeforeTheNewerVersion) {
  // View 1 had made version 6, and view 2 went on without it: its version 6 is another.
  std::vector<Caller> here{newcomer(0), newcomer(1)};
  here[0].holdings = {slice(0, 7, 1, 2), slice(1, 7, 1, 2), slice(0, 6, 2, 2)};
  here[1].holdings = {slice(1, 6, 2, 2)};
  const auto view = form({2, {0, 1}, 0, here, {}});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->from, 2u);
  EXPECT_EQ(view->networks.at(0).version, 6u);
}

TEST(FormingTest, EveryNetworkGoesOnFromItsOwnNewest) {
  auto zero = member(0, {}, {}), one = member(1, {}, {});
  zero.holdings = {{1, 0, 0, 2, 5, standing_at(5)}, {1, 1, 0, 2, 8, standing_at(8)}, {1, 1, 0, 2, 9, standing_at(9)}};
  one.holdings = {{1, 0, 1, 2, 5, standing_at(5)}, {1, 1, 1, 2, 8, standing_at(8)}};
  const auto view = form({1, {0, 1}, 0, {zero, one}, {}});
  ASSERT_TRUE(view);
  ASSERT_EQ(view->networks.size(), 2u);
  EXPECT_EQ(view->networks[0].version, 5u);
  EXPECT_EQ(view->networks[1].version, 8u);
  one.holdings.pop_back();
  EXPECT_FALSE(form({1, {0, 1}, 0, {zero, one}, {}})) << "one of them is not whole";
}

TEST(FormingTest, MembersKeepTheirOrderAndNewcomersComeLast) {
  auto attendance =
      of_four({newcomer(9), member(3, {5}, {5}), member(1, {5}, {5}), newcomer(2), member(0, {5}, {5})}, {2});
  attendance.former = {3, 0, 1, 2};
  attendance.chief = 1;
  const auto view = form(attendance);
  ASSERT_TRUE(view);
  EXPECT_EQ(replicas(*view), (Replicas{3, 0, 1, 9, 2})) << "one that came back is a newcomer";
  EXPECT_EQ(view->survivors, 3u);
  EXPECT_EQ(view->members[0].listens, "at 3");
  EXPECT_EQ(view->chief, 1u) << "it stays";
}

TEST(FormingTest, WhenTheChiefIsLostTheFirstBecomesIt) {
  auto attendance = of_four({member(2, {5}, {5}), member(3, {5}, {5}), member(1, {5}, {5})}, {0});
  const auto view = form(attendance);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->chief, 1u);
  attendance.here.push_back(newcomer(0));
  const auto back = form(attendance);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->chief, 1u) << "one that comes back with nothing is not what it was";
}

TEST(FormingTest, NobodyHasAnything) {
  const auto view = form(of_four({newcomer(0), newcomer(1)}, {2, 3}));
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, Code::peer_down);
  EXPECT_NE(view.error().message.find("before the parameters were there"), std::string::npos);
}

}  // namespace
}  // namespace yoke::core
