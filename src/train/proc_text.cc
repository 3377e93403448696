#include "train/proc_text.h"

#include <algorithm>
#include <charconv>
#include <fstream>

namespace yoke::train {

std::string read_proc(const std::string& file) {
  constexpr std::size_t kMost = 1 << 16;
  std::ifstream in(file, std::ios::binary);
  std::string text(in ? kMost : 0, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

std::vector<std::string_view> split_text(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (std::size_t begin = 0;;) {
    const auto end = text.find(separator, begin);
    pieces.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return pieces;
    begin = end + 1;
  }
}

std::vector<std::string_view> split_words(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r";
  std::vector<std::string_view> words;
  while ((text = text.substr(std::min(text.find_first_not_of(kSpace), text.size()))).size() > 0) {
    words.push_back(text.substr(0, text.find_first_of(kSpace)));
    text.remove_prefix(words.back().size());
  }
  return words;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  const auto words = split_words(text);
  if (words.empty()) return std::nullopt;
  std::uint64_t number = 0;
  const auto end = words[0].data() + words[0].size();
  const auto read = std::from_chars(words[0].data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

std::optional<std::uint64_t> parse_field(std::string_view text, std::string_view key) {
  for (const auto line : split_text(text, '\n')) {
    if (!line.starts_with(key)) continue;
    const auto rest = line.substr(key.size());
    if (rest.starts_with(':')) return parse_number(rest.substr(1));
    if (rest.starts_with(' ')) return parse_number(rest);
  }
  return std::nullopt;
}

}  // namespace yoke::train
