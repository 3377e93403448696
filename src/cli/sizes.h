// Amounts of memory, as they are typed and as they are shown.
#pragma once

#include <cstdint>
#include <string>

#include "yoke/error.h"

namespace yoke::cli {

// "512M", "2G", "1.5GiB" or plain bytes. K, M, G and T are powers of 1024.
Result<std::uint64_t> bytes_of(const std::string& flag, const std::string& text);

}  // namespace yoke::cli
