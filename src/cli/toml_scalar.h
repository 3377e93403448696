// The words of TOML that stand without quotes.
#pragma once

#include <optional>
#include <string_view>

#include "cli/toml.h"

namespace yoke::cli {

// A number, true or false; nothing when `word` is none.
std::optional<TomlValue> toml_scalar(std::string_view word);

bool is_toml_key_character(char c);

}  // namespace yoke::cli
