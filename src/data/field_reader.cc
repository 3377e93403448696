#include "data/field_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/number.h"

namespace yoke::data {
namespace {

// Whether these are integers in the form that parse_integer gives them; then "3.0" is "3".
bool are_integers(const std::vector<std::string>& words) {
  return std::all_of(words.begin(), words.end(), [](const std::string& word) {
    const auto integer = parse_integer(word);
    return integer && *integer == word;
  });
}

}  // namespace

FieldReader FieldReader::of_numbers() { return {}; }

FieldReader FieldReader::of_flags() {
  FieldReader reader;
  reader.kind_ = Kind::flags;
  return reader;
}

FieldReader FieldReader::of_words(const std::vector<std::string>& words, const char* what) {
  FieldReader reader;
  reader.kind_ = are_integers(words) ? Kind::integers : Kind::words;
  reader.what_ = what;
  for (std::size_t i = 0; i < words.size(); ++i) reader.places_.emplace(words[i], static_cast<float>(i));
  return reader;
}

Result<float> FieldReader::read(const std::string& field) const {
  if (kind_ == Kind::words || kind_ == Kind::integers) return read_word(field);
  const auto number = parse_number(field);
  if (!number) return number.error();
  if (kind_ == Kind::flags && *number != 0 && *number != 1) {
    return Error{Code::invalid_argument, fmt::format("{} is neither 0 nor 1, as flags are", shown(field))};
  }
  return static_cast<float>(*number);
}

Result<float> FieldReader::read_word(const std::string& field) const {
  if (field.empty()) return Error{Code::corrupt, "the field is empty"};
  auto found = places_.find(field);
  if (found == places_.end() && kind_ == Kind::integers) {
    if (const auto integer = parse_integer(field); integer) found = places_.find(*integer);
  }
  if (found != places_.end()) return found->second;
  return Error{Code::invalid_argument,
               fmt::format("{} is no {} that was there when the columns were learnt", shown(field), what_)};
}

}  // namespace yoke::data
