#include "cluster/silence.h"

#include <gtest/gtest.h>

namespace yoke::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Silence, IsLookedAtEverySecondUntilItsDeadline) {
  Silence silence(milliseconds(2500), seconds(100));
  EXPECT_EQ(silence.look(seconds(100)), seconds(1));
  EXPECT_EQ(silence.look(seconds(101)), seconds(1));
  EXPECT_EQ(silence.look(seconds(102)), milliseconds(500));
  EXPECT_EQ(silence.look(milliseconds(102'500)), Duration::zero());
}

TEST(Silence, BeginsAnewWithNews) {
  Silence silence(seconds(2), seconds(100));
  EXPECT_EQ(silence.look(seconds(101)), seconds(1));
  silence.broken(seconds(101));
  EXPECT_EQ(silence.look(seconds(102)), seconds(1));
  EXPECT_EQ(silence.look(seconds(103)), Duration::zero());
}

TEST(Silence, OfAProcessThatWasStoppedDoesNotCount) {
  Silence silence(seconds(5), seconds(100));
  EXPECT_EQ(silence.look(seconds(101)), seconds(1));
  EXPECT_EQ(silence.look(seconds(1000)), seconds(1));
  for (int second = 1001; second < 1003; ++second) EXPECT_EQ(silence.look(seconds(second)), seconds(1));
  EXPECT_EQ(silence.look(seconds(1003)), Duration::zero());
}

TEST(Silence, OfALookThatIsALittleLateDoes) {
  Silence silence(seconds(4), seconds(100));
  EXPECT_EQ(silence.look(seconds(102)), seconds(1));
  EXPECT_EQ(silence.look(seconds(104)), Duration::zero());
}

}  // namespace
}  // namespace yoke::cluster
