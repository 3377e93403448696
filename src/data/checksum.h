// Whether a file is the one that was meant.
#pragma once

#include <string>

#include "yoke/error.h"

namespace yoke::data {

// SHA-256 of the file's bytes, 64 hexadecimal digits. Code::missing, with the file named, where it cannot be read.
Result<std::string> sha256_of(const std::string& file);

}  // namespace yoke::data
