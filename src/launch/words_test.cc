#include "launch/words.h"

#include <gtest/gtest.h>

#include <random>

namespace yoke::launch {
namespace {

using Strings = std::vector<std::string>;

TEST(Words, AreQuotedWhereNeeded) {
  EXPECT_EQ(join_words({}), "");
  EXPECT_EQ(join_words({"--steps=5", "a/b.c", ""}), "--steps=5 a/b.c ''");
  EXPECT_EQ(join_words({"two words", "it's", "$HOME", "*"}), R"('two words' 'it'\''s' '$HOME' '*')");
}

TEST(Words, AsAShellReadsThem) {
  EXPECT_EQ(*split_words(""), Strings{});
  EXPECT_EQ(*split_words(" \t\n"), Strings{});
  EXPECT_EQ(*split_words("  a\tb\n c  "), (Strings{"a", "b", "c"}));
  EXPECT_EQ(*split_words(R"(--name="two words"'!' a\ b \' '' "")"), (Strings{"--name=two words!", "a b", "'", "", ""}));
  EXPECT_EQ(*split_words(R"("a\"b\\c\d" '\' $x # *)"), (Strings{R"(a"b\c\d)", "\\", "$x", "#", "*"}));
}

TEST(Words, WhatIsNotClosed) {
  for (const auto& [text, message] : {std::pair{"a 'b c", "the quote before b c is not closed"},
                                      {"\"b\\\"", "the quote before b\\\" is not closed"},
                                      {"a\\", "there is nothing behind the last backslash"}}) {
    const auto words = split_words(text);
    ASSERT_FALSE(words.ok()) << text;
    EXPECT_EQ(words.error().code, Code::invalid_argument);
    EXPECT_EQ(words.error().message, message);
  }
}

TEST(Words, ComeBackAsTheyWere) {
  std::mt19937 random(1);
  const std::string letters = "ab'\"\\ \n\t$`*#~!\r\x01\x7f\xc3\xa4-=";
  for (int round = 0; round < 20'000; ++round) {
    Strings words(random() % 5);
    for (auto& word : words) {
      word.resize(random() % 7);
      for (auto& c : word) c = round % 2 ? letters[random() % letters.size()] : static_cast<char>(random());
    }
    const auto back = split_words(join_words(words));
    ASSERT_TRUE(back.ok()) << join_words(words);
    ASSERT_EQ(*back, words) << join_words(words);
  }
}

}  // namespace
}  // namespace yoke::launch
