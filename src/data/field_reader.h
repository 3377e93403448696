// Reads the fields of one column as numbers.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "yoke/error.h"

namespace yoke::data {

// Pure. Numbers of words and classes are small enough to be floats without loss.
class FieldReader {
 public:
  static FieldReader of_numbers();
  // 0 or 1.
  static FieldReader of_flags();
  // The place of a field among these words; they must outlive the reader. `what`: "word" or "class", for messages.
  static FieldReader of_words(const std::vector<std::string>& words, const char* what);

  // Why a field is none of those, in words that show it.
  Result<float> read(const std::string& field) const;

 private:
  Result<float> read_word(const std::string& field) const;

  enum class Kind { numbers, flags, words, integers };  // integers: words that may be written in several ways
  Kind kind_ = Kind::numbers;
  const char* what_ = "";
  std::unordered_map<std::string_view, float> places_;
};

}  // namespace yoke::data
