#include "data/utf8.h"

#include <gtest/gtest.h>

#include "data/expect_error.h"

namespace yoke::data {
namespace {

TEST(Utf8, EveryCharacterThereAndBack) {
  for (char32_t character = 0; character <= kLastCharacter; ++character) {
    if (character == 0xd800) character = 0xe000;
    const auto back = decode_utf8(encode_utf8(character));
    ASSERT_TRUE(back.ok()) << back.error().message;
    ASSERT_EQ(*back, std::u32string(1, character));
  }
  EXPECT_EQ(encode_utf8(kReplacement), "\xef\xbf\xbd");
  EXPECT_EQ(encode_utf8(U'é'), "é");
  EXPECT_EQ(encode_utf8(U'\U0001f433'), "\xf0\x9f\x90\xb3");
  EXPECT_EQ(decode_utf8("aé€\U0001f433z").value(), U"aé€\U0001f433z");
  EXPECT_EQ(decode_utf8("").value(), U"");
}

TEST(Utf8, SaysAtWhichByteItIsWrong) {
  const std::string bad[] = {
      "\x80",  // in the middle of a character
      "\xff",
      "\xfe",
      "\xf8",  // never part of any
      "\xc3",
      "\xe2\x82",
      "\xf0\x9f",  // cut off
      "\xc3z",
      "\xe2\x82z",  // broken off
      "\xc0\xaf",
      "\xc1\xbf",
      "\xe0\x80\xaf",
      "\xf0\x80\x80\xaf",  // longer than need be
      "\xed\xa0\x80",
      "\xed\xbf\xbf",  // surrogates
      "\xf4\x90\x80\x80",
      "\xf5\x80\x80\x80",  // above the last
  };
  for (const auto& bytes : bad) {
    for (const char* after : {"", "z"}) {
      expect_error(decode_utf8("é1" + bytes + after), Code::corrupt, {"byte 3 (0x", "iconv"});
    }
  }
}

}  // namespace
}  // namespace yoke::data
