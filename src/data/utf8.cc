#include "data/utf8.h"

#include <fmt/format.h>

#include <cstdint>

namespace yoke::data {
namespace {

// How many bytes a character has that begins with this one; 0: none does.
std::size_t length_of(std::uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  return 0;
}

// The character that `bytes` begins with, and how many bytes it takes; 0 bytes: there is none.
std::size_t first_of(std::string_view bytes, char32_t& character) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const auto length = length_of(byte(0));
  if (length == 0 || length > bytes.size()) return 0;
  character = length == 1 ? byte(0) : byte(0) & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    character = character << 6 | (byte(i) & 0x3fu);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  return character < kSmallest[length] || surrogate || character > kLastCharacter ? 0 : length;
}

}  // namespace

Result<std::u32string> decode_utf8(std::string_view bytes) {
  std::u32string characters;
  characters.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    char32_t character = 0;
    const auto length = first_of(bytes.substr(at), character);
    if (length == 0) {
      return Error{Code::corrupt,
                   fmt::format("byte {} (0x{:02x}) is not UTF-8: convert the text, for example with iconv", at,
                               static_cast<std::uint8_t>(bytes[at]))};
    }
    characters += character;
    at += length;
  }
  return characters;
}

std::string encode_utf8(char32_t character) {
  if (character < 0x80) return {static_cast<char>(character)};
  std::string bytes;
  const int following = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  const auto lead = 0xffu << (7 - following) & 0xffu;
  bytes += static_cast<char>(lead | character >> (6 * following));
  for (int i = following - 1; i >= 0; --i) bytes += static_cast<char>(0x80u | (character >> (6 * i) & 0x3fu));
  return bytes;
}

}  // namespace yoke::data
