// Fields of a table as numbers.
#pragma once

#include <string>
#include <string_view>

#include "yoke/error.h"

namespace yoke::data {

// Whether `field` is meant as a number; also "nan", "inf" and 1e99, of which parse_number says what is wrong with them.
bool looks_like_number(std::string_view field);

// A number that a float can hold; else why it is none, in words that show the field: "'x' is no number".
Result<double> parse_number(std::string_view field);

// The integer that `field` is, in its shortest form: "3" for "3", "+3", "3.0" and "03".
Result<std::string> parse_integer(std::string_view field);

// In quotes, cut short where it is long: for messages.
std::string shown(std::string_view field);

}  // namespace yoke::data
