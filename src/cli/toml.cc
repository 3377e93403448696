#include "cli/toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <utility>

#include "cli/toml_scalar.h"

namespace yoke::cli {
namespace {

constexpr std::size_t kLongestShown = 64;  // of a wrong word, in a message

void append_utf8(std::string& text, std::uint32_t point) {
  if (point < 0x80) {
    text += static_cast<char>(point);
    return;
  }
  const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  const int mark[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(mark[more] | static_cast<int>(point >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | ((point >> (6 * i)) & 0x3F));
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);  // a byte order mark, as some editors leave it
  }

  Result<std::vector<TomlSetting>> read() {
    if (auto clean = check_characters(); !clean) return clean.error();
    std::vector<TomlSetting> settings;
    for (skip_lines(); !ended(); skip_lines()) {
      const auto done = peek() == '[' ? read_header() : read_setting(settings);
      if (!done) return done.error();
      if (const auto rest = end_line(); !rest) return rest.error();
    }
    return settings;
  }

 private:
  bool ended() const { return at_ >= text_.size(); }
  char peek() const { return ended() ? '\n' : text_[at_]; }
  bool take(char c) {
    if (ended() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Error wrong(const std::string& why) const {
    return Error{Code::invalid_argument, fmt::format("{}:{}: {}", file_, line_, why)};
  }

  Status check_characters() {
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const auto c = static_cast<unsigned char>(text_[i]);
      if (c == '\n') ++line_;
      const bool line_end = c == '\n' || (c == '\r' && i + 1 < text_.size() && text_[i + 1] == '\n');
      if ((c < 0x20 && c != '\t' && !line_end) || c == 0x7F)
        return wrong(fmt::format("a control character (code {}): this is no text file", c));
    }
    line_ = 1;
    return {};
  }

  void skip_blanks() {
    while (!ended() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  void skip_comment() {
    if (peek() != '#') return;
    while (!ended() && text_[at_] != '\n') ++at_;
  }
  void skip_lines() {
    for (;;) {
      skip_blanks();
      skip_comment();
      if (!take('\n')) return;
      ++line_;
    }
  }
  Status end_line() {
    skip_blanks();
    skip_comment();
    if (!ended() && peek() != '\n') return wrong(fmt::format("'{}' is too much here: one setting a line", bare_word()));
    return {};
  }

  // For messages, and for numbers: up to what can follow a value.
  std::string bare_word() {
    const auto start = at_;
    while (!ended() && std::string_view(" \t\r\n,]#").find(text_[at_]) == std::string_view::npos) ++at_;
    if (at_ == start && !ended() && text_[at_] != '\n') ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  Result<std::string> read_key(const char* what) {
    if (peek() == '"' || peek() == '\'') return read_string();
    const auto start = at_;
    while (!ended() && is_toml_key_character(text_[at_])) ++at_;
    if (at_ == start) return wrong(fmt::format("{} is missing before '{}'", what, bare_word()));
    return std::string(text_.substr(start, at_ - start));
  }

  Status read_header() {
    take('[');
    if (peek() == '[') return wrong("lists of tables ([[...]]) are not for settings: write [table]");
    skip_blanks();
    const auto name = read_key("a table's name");
    if (!name) return name.error();
    skip_blanks();
    if (peek() == '.')
      return wrong(fmt::format("a table inside table '{}': one level of tables is all there is", *name));
    if (!take(']')) return wrong(fmt::format("']' is missing after table '{}'", *name));
    if (!tables_.insert(*name).second) return wrong(fmt::format("table '{}' stands twice: join the two", *name));
    keys_.clear();
    return {};
  }

  Status read_setting(std::vector<TomlSetting>& settings) {
    const auto line = line_;
    const auto key = read_key("a name");
    if (!key) return key.error();
    skip_blanks();
    if (peek() == '.') return wrong(fmt::format("dots in a name, after '{}': write [{}] on a line above", *key, *key));
    if (!take('=')) return wrong(fmt::format("'=' is missing after '{}'", *key));
    if (!keys_.insert(*key).second) return wrong(fmt::format("'{}' stands twice: leave one", *key));
    skip_blanks();
    auto value = take('[') ? read_list() : read_scalar();
    if (!value) return value.error();
    settings.push_back({*key, std::move(*value), line});
    return {};
  }

  Result<TomlValue> read_scalar() {
    if (peek() == '"' || peek() == '\'') {
      auto text = read_string();
      if (!text) return text.error();
      return TomlValue{TomlValue::Kind::text, std::move(*text), {}};
    }
    if (peek() == '{') return wrong("tables inside a line ({...}) are not for settings: write [table] on a line above");
    if (ended() || peek() == '\n' || peek() == '\r' || peek() == '#') return wrong("a value is missing after '='");
    const auto word = bare_word();
    if (auto value = toml_scalar(word)) return std::move(*value);
    return wrong(
        fmt::format("'{}' is no number, true or false: put text in quotes, \"...\"", word.substr(0, kLongestShown)));
  }

  Result<TomlValue> read_list() {
    TomlValue list{TomlValue::Kind::list, {}, {}};
    const auto first_line = line_;
    for (;;) {
      skip_lines();
      if (take(']')) return list;
      if (ended()) return wrong(fmt::format("the list that begins on line {} is not closed with ']'", first_line));
      if (peek() == '[') return wrong("a list inside a list: settings are plain lists");
      if (peek() == ',') return wrong("a value is missing before ','");
      auto value = read_scalar();
      if (!value) return value.error();
      list.items.push_back(std::move(*value));
      skip_lines();
      if (!take(',') && peek() != ']' && !ended())
        return wrong(fmt::format("',' or ']' is missing in the list that begins on line {}", first_line));
    }
  }

  Result<std::string> read_string() {
    const char quote = text_[at_];
    if (text_.substr(at_, 3) == std::string(3, quote))
      return wrong("strings over several lines are not for settings: write \"...\" on one line, with \\n in it");
    ++at_;
    std::string text;
    for (;;) {
      if (ended() || peek() == '\n' || peek() == '\r')
        return wrong(fmt::format("the string is not closed with {} on its line", quote));
      const char c = text_[at_++];
      if (c == quote) return text;
      if (c != '\\' || quote == '\'') {
        text += c;
      } else if (const auto read = read_escape(text); !read) {
        return read.error();
      }
    }
  }

  Status read_escape(std::string& text) {
    const char c = peek();
    ++at_;
    if (c == 'u' || c == 'U') return read_code_point(text, c == 'u' ? 4 : 8);
    static constexpr std::string_view kNames = "btnfr\"\\", kMeanings = "\b\t\n\f\r\"\\";
    const auto which = kNames.find(c);
    if (which == std::string_view::npos)
      return wrong(fmt::format("\\{} means nothing in a string: write \\\\ for a backslash, or use '...'",
                               c == '\n' ? "" : std::string(1, c)));
    text += kMeanings[which];
    return {};
  }

  Status read_code_point(std::string& text, std::size_t digits) {
    const auto hex = text_.substr(std::min(at_, text_.size()), digits);
    std::uint32_t point = 0;
    const auto [end, problem] = std::from_chars(hex.data(), hex.data() + hex.size(), point, 16);
    const bool all = hex.size() == digits && problem == std::errc() && end == hex.data() + digits;
    if (!all || point == 0 || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
      return wrong(fmt::format("'\\{}{}' is no character", digits == 4 ? 'u' : 'U', hex));
    append_utf8(text, point);
    at_ += digits;
    return {};
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::set<std::string> tables_;
  std::set<std::string> keys_;  // of the table being read
};

}  // namespace

Result<std::vector<TomlSetting>> parse_toml(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

}  // namespace yoke::cli
