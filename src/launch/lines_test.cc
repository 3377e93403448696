#include "launch/lines.h"

#include <gtest/gtest.h>

#include <vector>

namespace yoke::launch {
namespace {

using Strings = std::vector<std::string>;

Strings lines_of(const Strings& pieces) {
  Lines lines;
  Strings found;
  const auto keep = [&](std::string_view line) { found.emplace_back(line); };
  for (const auto& piece : pieces) lines.add(piece, keep);
  lines.finish(keep);
  return found;
}

TEST(Lines, HoweverTheyAreCut) {
  const std::string text = "one\n\ntwo\nthree";
  const Strings expected{"one", "", "two", "three"};
  EXPECT_EQ(lines_of({text}), expected);
  for (std::size_t i = 0; i <= text.size(); ++i) {
    for (std::size_t j = i; j <= text.size(); ++j) {
      EXPECT_EQ(lines_of({text.substr(0, i), text.substr(i, j - i), text.substr(j)}), expected);
    }
  }
}

TEST(Lines, NothingIsNoLine) {
  EXPECT_EQ(lines_of({}), Strings{});
  EXPECT_EQ(lines_of({""}), Strings{});
  EXPECT_EQ(lines_of({"\n"}), Strings{""});
  EXPECT_EQ(lines_of({"a\n"}), Strings{"a"});
}

TEST(Lines, LongOnesComeInPieces) {
  const std::string full(Lines::kLongest, 'x');
  EXPECT_EQ(lines_of({full + "\n"}), Strings{full}) << "no empty line behind it";
  EXPECT_EQ(lines_of({full, "\n", "next\n"}), (Strings{full, "next"}));
  EXPECT_EQ(lines_of({full}), Strings{full});
  EXPECT_EQ(lines_of({full + full + "y\nz"}), (Strings{full, full, "y", "z"}));
  EXPECT_EQ(lines_of({"y" + full + "\n"}), (Strings{"y" + full.substr(1), "x"}));
}

}  // namespace
}  // namespace yoke::launch
