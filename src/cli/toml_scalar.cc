#include "cli/toml_scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <regex>

namespace yoke::cli {
namespace {

constexpr std::size_t kLongestNumber = 64;  // also keeps the regular expressions' recursion shallow

bool matches(std::string_view text, const std::regex& pattern) {
  return text.size() <= kLongestNumber && std::regex_match(text.begin(), text.end(), pattern);
}

bool is_integer(std::string_view text) {
  static const std::regex pattern(R"([+-]?(0|[1-9](_?[0-9])*))");
  return matches(text, pattern);
}

bool is_real_or_integer(std::string_view text) {
  static const std::regex pattern(
      R"([+-]?((0|[1-9](_?[0-9])*)(\.[0-9](_?[0-9])*)?([eE][+-]?[0-9](_?[0-9])*)?|inf|nan))");
  return matches(text, pattern);
}

bool is_of_other_base(std::string_view text) {
  static const std::regex pattern(R"(0x[0-9A-Fa-f](_?[0-9A-Fa-f])*|0o[0-7](_?[0-7])*|0b[01](_?[01])*)");
  return matches(text, pattern);
}

}  // namespace

bool is_toml_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::optional<TomlValue> toml_scalar(std::string_view word) {
  using Kind = TomlValue::Kind;
  std::string text(word);
  if (word == "true" || word == "false") return TomlValue{Kind::boolean, text, {}};
  std::erase(text, '_');
  if (is_integer(word)) return TomlValue{Kind::integer, text, {}};
  if (is_real_or_integer(word)) return TomlValue{Kind::real, text, {}};
  if (!is_of_other_base(word)) return std::nullopt;
  std::uint64_t number = 0;
  const int base = text[1] == 'x' ? 16 : text[1] == 'o' ? 8 : 2;
  if (std::from_chars(text.data() + 2, text.data() + text.size(), number, base).ec != std::errc()) return std::nullopt;
  return TomlValue{Kind::integer, std::to_string(number), {}};
}

std::string quote_toml(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += fmt::format("\\{}", c);
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

bool is_toml_number(std::string_view text) {
  return text.find('_') == std::string_view::npos && is_real_or_integer(text);
}

bool is_toml_key(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_toml_key_character);
}

}  // namespace yoke::cli
