// What is wrong with what a user asks for.
#pragma once

#include <string>

#include "yoke/error.h"

namespace yoke::data {

inline Error wrong(const std::string& why) { return {Code::invalid_argument, why}; }
// Of a name or a file: "the model: it was not made for text".
inline Error wrong(const std::string& what, const std::string& why) { return wrong(what + ": " + why); }

}  // namespace yoke::data
