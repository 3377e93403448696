// The README's first C++ is the example, whole and unchanged, so that what a reader copies is what the tests build.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace {

constexpr long kMaxLines = 25;  // the example has fewer

// The text between the first ```cpp fence and the fence that closes it; none: there is no such block.
std::optional<std::string> first_cpp_block(const std::string& markdown) {
  const std::string open = "```cpp\n", close = "\n```\n";
  const auto fence = ("\n" + markdown).find("\n" + open);
  if (fence == std::string::npos) return std::nullopt;
  const auto begin = fence + open.size();
  const auto end = (markdown + "\n").find(close, begin - 1);
  if (end == std::string::npos) return std::nullopt;
  return markdown.substr(begin, std::max(end + 1, begin) - begin);
}

std::optional<std::string> content(const std::string& name) {
  std::ifstream in(std::string(YOKE_SOURCE_DIR) + "/" + name);
  if (!in) return std::nullopt;
  return std::string((std::istreambuf_iterator<char>(in)), {});
}

TEST(Readme, ShowsTheExample) {
  const auto readme = content("README.md"), example = content("examples/digits.cc");
  ASSERT_TRUE(readme) << "README.md is missing";
  ASSERT_TRUE(example) << "examples/digits.cc is missing";
  const auto shown = first_cpp_block(*readme);
  ASSERT_TRUE(shown) << "README.md has no ```cpp block";
  EXPECT_EQ(*shown, *example) << "the first ```cpp block of README.md has to be examples/digits.cc";
  EXPECT_LT(std::count(example->begin(), example->end(), '\n'), kMaxLines) << "the first example has to be short";
}

TEST(ReadmeChecker, FindsTheFirstBlock) {
  EXPECT_EQ(first_cpp_block("# Title\n```sh\nmake\n```\n\n```cpp\nint a;\nint b;\n```\n```cpp\nint c;\n```\n"),
            "int a;\nint b;\n");
  EXPECT_EQ(first_cpp_block("```cpp\nint a;\n```"), "int a;\n");
  EXPECT_EQ(first_cpp_block("```cpp\n```\n"), "");
  EXPECT_EQ(first_cpp_block("```cpp\nint a;\n"), std::nullopt);
  EXPECT_EQ(first_cpp_block("```sh\nmake\n```\n"), std::nullopt);
  EXPECT_EQ(first_cpp_block(""), std::nullopt);
}

}  // namespace
