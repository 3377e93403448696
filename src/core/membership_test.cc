#include "core/membership.h"

#include <gtest/gtest.h>

namespace yoke::core {
namespace {

using JoinKind = JoinDecision::Kind;

TEST(MembershipTest, CompleteWhenAllHaveJoinedOrAreGone) {
  Membership members(3);
  EXPECT_EQ(members.hello({0, 1}).kind, JoinKind::joined);
  EXPECT_EQ(members.hello({2, 1}).kind, JoinKind::joined);
  EXPECT_FALSE(members.complete());
  EXPECT_TRUE(members.down({1, 1}, "never came"));
  EXPECT_TRUE(members.complete());
  EXPECT_EQ(members.all_alive(), (std::vector<wire::Life>{{0, 1}, {2, 1}}));
}

TEST(MembershipTest, TheSameLifeAgain) {
  Membership members(1);
  members.hello({0, 1});
  EXPECT_EQ(members.hello({0, 1}).kind, JoinKind::again);
  EXPECT_EQ(members.count_alive(), 1u);
}

TEST(MembershipTest, OfTwoLivesTheLaterCounts) {
  Membership members(1);
  members.hello({0, 2});
  EXPECT_EQ(members.hello({0, 1}).kind, JoinKind::refused);
  EXPECT_EQ(members.hello({0, 3}).kind, JoinKind::joined);
  EXPECT_FALSE(members.alive(wire::Life{0, 2}));
  EXPECT_TRUE(members.alive(wire::Life{0, 3}));
  EXPECT_FALSE(members.down({0, 2}, "late news")) << "a later life has joined";
  EXPECT_TRUE(members.alive(wire::ReplicaId{0}));
}

TEST(MembershipTest, ALifeThatIsOverDoesNotComeBack) {
  Membership members(1);
  members.hello({0, 1});
  EXPECT_TRUE(members.down({0, 1}, ""));
  EXPECT_FALSE(members.down({0, 1}, "again"));
  EXPECT_EQ(members.hello({0, 1}).kind, JoinKind::refused);
  EXPECT_EQ(members.hello({0, 2}).kind, JoinKind::joined);
}

// Its hello is still under way when its end is known: it would be alive for ever.
TEST(MembershipTest, TheEndOfALaterLifeMayComeBeforeItsHello) {
  Membership members(1);
  members.hello({0, 1});
  EXPECT_TRUE(members.down({0, 2}, "gone"));
  EXPECT_EQ(members.count_alive(), 0u);
  EXPECT_EQ(members.hello({0, 2}).kind, JoinKind::refused);
  EXPECT_EQ(members.why_down(0), "gone");
}

}  // namespace
}  // namespace yoke::core
