// The environment, handed in: no layer reads it by itself. A program passes std::getenv, a test a map.
#pragma once

#include <functional>
#include <string>

namespace yoke::launch {

using Lookup = std::function<const char*(const char* name)>;  // null: not set

// "" for what is not set: a variable that is empty is as good as none.
inline std::string value_of(const Lookup& lookup, const char* name) {
  const char* const value = lookup(name);
  return value ? value : "";
}

}  // namespace yoke::launch
