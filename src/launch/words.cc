#include "launch/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace yoke::launch {
namespace {

// What every shell takes as it is, so that the line can be pasted into one too.
constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,:/@%";
constexpr std::string_view kBetween = " \t\n";

std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += R"('\'')";
    } else {
      text += c;
    }
  }
  return text + "'";
}

// Takes the quoted part that begins at the front of `rest` into `word`; false: it does not end.
bool take_quoted(std::string_view& rest, std::string& word) {
  const char quote = rest.front();
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == quote) {
      rest.remove_prefix(i + 1);
      return true;
    }
    const bool escapes = quote == '"' && rest[i] == '\\' && i + 1 < rest.size();
    if (escapes && (rest[i + 1] == '"' || rest[i + 1] == '\\')) ++i;
    word += rest[i];
  }
  return false;
}

}  // namespace

std::string join_words(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + quoted(word);
  return text;
}

Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  const auto skip_between = [&] { text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size())); };
  for (skip_between(); !text.empty(); skip_between()) {
    auto& word = words.emplace_back();
    while (!text.empty() && kBetween.find(text.front()) == std::string_view::npos) {
      if (text.front() == '\'' || text.front() == '"') {
        const auto before = text;
        if (!take_quoted(text, word))
          return Error{Code::invalid_argument, fmt::format("the quote before {} is not closed", before.substr(1))};
        continue;
      }
      if (text.front() == '\\') text.remove_prefix(1);
      if (text.empty()) return Error{Code::invalid_argument, "there is nothing behind the last backslash"};
      word += text.front();
      text.remove_prefix(1);
    }
  }
  return words;
}

}  // namespace yoke::launch
