// JSON that came from a disk: checked as it is read, and read field by field.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "yoke/error.h"

namespace yoke::checkpoint {

using Json = nlohmann::json;

// Files of JSON in a checkpoint end in `"sum":"0123456789abcdef"}` and a line's end: the XXH3 of every byte before.
// `object` is a JSON object of at least one field.
std::string with_sum(const nlohmann::ordered_json& object);
// The object, whose sum is right; without the sum. Code::corrupt for other sums, what is no JSON, nests deeper than
// checkpoints do, or names a key twice.
Result<Json> parse_summed(std::string_view text);

// "0123456789abcdef"; 16 digits, no capitals.
std::string in_hex(std::uint64_t sum);
std::uint64_t sum_of(std::string_view text);

// Takes an object's fields one by one. The first thing that is wrong is kept, with the place where it is; after that
// every field is a default. All fields must be taken: one that nobody asked for is wrong too.
class Fields {
 public:
  // `wrong` outlives it; empty: nothing is.
  Fields(const Json& object, std::string where, std::string& wrong);
  ~Fields();
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  std::uint64_t whole(const char* key, std::uint64_t most = UINT64_MAX);
  std::uint32_t small(const char* key, std::uint32_t most = UINT32_MAX);
  double number(const char* key);  // finite
  bool flag(const char* key);
  std::string text(const char* key, std::size_t most);
  std::uint64_t hex(const char* key);
  bool has(const char* key) const { return object_.is_object() && object_.contains(key); }
  // Of at most so many; empty when it is wrong.
  const Json& list(const char* key, std::size_t most);
  const Json& object(const char* key);

  void refuse(const char* key, std::string_view why);
  std::string place(const char* key) const;
  std::string& wrong() { return wrong_; }

 private:
  const Json* take(const char* key);

  const Json& object_;
  const std::string where_;
  std::string& wrong_;
  std::size_t taken_ = 0;
};

}  // namespace yoke::checkpoint
