#include "launch/seating.h"

#include <gtest/gtest.h>

namespace yoke::launch {
namespace {

const Seating kThree{.join = "shm:/j/r0", .replicas = {0, 1, 2}, .listens = {"shm:/j/r0", "shm:/j/r1", "shm:/j/r2"}};

TEST(Seating, AtFirstAllJoinReplicaZero) {
  for (const auto replica : kThree.replicas) {
    const auto seat = seat_of(kThree, replica, false);
    EXPECT_EQ(seat.join, "shm:/j/r0");
    EXPECT_EQ(seat.listen, kThree.listens[replica]);
    EXPECT_EQ(seat.replica, replica);
    EXPECT_FALSE(seat.again);
  }
}

TEST(Seating, OneThatComesAgainIsToldOfAllOthers) {
  EXPECT_EQ(seat_of(kThree, 0, true).join, "shm:/j/r1,shm:/j/r2");
  EXPECT_EQ(seat_of(kThree, 1, true).join, "shm:/j/r0,shm:/j/r2");
  EXPECT_EQ(seat_of(kThree, 1, true).listen, "shm:/j/r1") << "as in its former life";
  EXPECT_TRUE(seat_of(kThree, 1, true).again);
  EXPECT_EQ(to_environment(seat_of(kThree, 2, true)),
            (std::vector<std::string>{"YOKE_JOIN=shm:/j/r0,shm:/j/r1", "YOKE_REPLICA=2", "YOKE_LISTEN=shm:/j/r2",
                                      "YOKE_AGAIN=1"}));
}

TEST(Seating, ReplicaZeroMayBeAnotherLaunchers) {
  const Seating seating{.join = "tcp:a:7", .replicas = {2, 3}, .listens = {"tcp:b:1", "tcp:b:2"}};
  EXPECT_EQ(seat_of(seating, 3, false).join, "tcp:a:7");
  EXPECT_EQ(seat_of(seating, 3, true).join, "tcp:a:7,tcp:b:1");
}

TEST(Seating, WhereThereAreServersTheyAreJoinedAgain) {
  const auto seat = seat_of({.join = "shm:/j/s0", .replicas = {0, 1}, .listens = {}}, 1, true);
  EXPECT_EQ(seat.join, "shm:/j/s0");
  EXPECT_EQ(seat.listen, "");
  EXPECT_TRUE(seat.again);
}

}  // namespace
}  // namespace yoke::launch
