// Characters and their bytes in UTF-8.
#pragma once

#include <string>
#include <string_view>

#include "yoke/error.h"

namespace yoke::data {

// What stands for a character that is not known.
constexpr char32_t kReplacement = 0xfffd;
// No character has a higher number.
constexpr char32_t kLastCharacter = 0x10ffff;

// The characters of `bytes`, strictly: a byte that is out of place, a form longer than need be, half a pair of
// surrogates and a number above kLastCharacter are errors that say at which byte, counted from 0. Pure: what a fuzzer
// calls.
Result<std::u32string> decode_utf8(std::string_view bytes);

// The other way round; `character` is one that decode_utf8 can give.
std::string encode_utf8(char32_t character);

}  // namespace yoke::data
