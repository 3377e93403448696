// Files a command writes at its end.
#pragma once

#include <string>
#include <string_view>

#include "yoke/error.h"

namespace yoke::cli {

// Can this file be written? Asked before hours of work, not after. Empty: no file is wanted.
Status can_write(const std::string& flag, const std::string& file);

// Whole or not at all.
Status write_file(const std::string& file, std::string_view text);

}  // namespace yoke::cli
