#include "base/nearest.h"

#include <gtest/gtest.h>

namespace yoke {
namespace {

TEST(Nearest, CountsWhatHasToChange) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("mnist", "mnsit"), 1U);
  EXPECT_EQ(edit_distance("PRICE", "price"), 0U);
}

TEST(Nearest, FindsTheWordThatWasMeant) {
  const std::vector<std::string> names{"fashion-mnist", "mnist", "digits", "diabetes", "moby-dick", "csv"};
  EXPECT_EQ(nearest("digit", names), "digits");
  EXPECT_EQ(nearest("Fashion_MNIST", names), "fashion-mnist");
  EXPECT_EQ(nearest("mnits", names), "mnist");
  EXPECT_EQ(nearest("mobydick", names), "moby-dick");
  EXPECT_EQ(nearest("cvs", names), "csv");
}

TEST(Nearest, SaysNothingWhenNothingIsClose) {
  const std::vector<std::string> names{"mnist", "x", "digits"};
  EXPECT_EQ(nearest("imagenet", names), "");
  EXPECT_EQ(nearest("y", names), "") << "one letter, and that one wrong";
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest("mnist", {}), "");
  EXPECT_EQ(nearest(std::string(101, 'a'), std::vector<std::string>{std::string(101, 'a')}), "");
}

TEST(Nearest, TheFirstOfSeveral) {
  const std::vector<std::string> names{"bat", "cat", "hat"};
  EXPECT_EQ(nearest("rat", names), "bat");
  EXPECT_EQ(nearest("hat", names), "hat");
}

}  // namespace
}  // namespace yoke
