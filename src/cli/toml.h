// The part of TOML that a file of settings needs, read strictly: bare and quoted keys, strings on one line, integers,
// floats, booleans, lists of those (over several lines), comments, and one level of [tables]. Whatever else TOML has
// (dotted keys, dates, tables in tables or in lines, strings over several lines) is an error that says so.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "yoke/error.h"

namespace yoke::cli {

struct TomlValue {
  enum class Kind { text, integer, real, boolean, list };

  Kind kind = Kind::text;
  std::string text;  // as a flag takes it: no quotes, escapes or underscores; hex, octal, binary: in decimal
  std::vector<TomlValue> items;  // of a list, and none of them is a list
};

struct TomlSetting {
  std::string key;
  TomlValue value;
  std::size_t line = 0;  // counted from 1
};

// The settings of `text` in their order, whichever table they stand in. `file` is what errors call it: they begin with
// FILE:LINE. A key that stands twice in one table, or a table that does, is one of them.
Result<std::vector<TomlSetting>> parse_toml(std::string_view text, const std::string& file);

// `text` as a TOML string, such that parse_toml gives it back.
std::string quote_toml(std::string_view text);

// Whether `text` may stand without quotes as a decimal number, and parse_toml gives it back as it is.
bool is_toml_number(std::string_view text);

// Whether `text` may stand without quotes as a key.
bool is_toml_key(std::string_view text);

}  // namespace yoke::cli
