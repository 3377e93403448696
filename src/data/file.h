// Whole files, gzip or plain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::data {

// The largest file that is read, inflated. No set that is read whole comes near it; a damaged one could claim more.
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 30;

// The bytes of `file`, inflated where it is gzip. Errors name the file: it cannot be opened, it is damaged or cut off,
// it is longer than `limit`. Memory grows with what was really read, whatever the file claims.
Result<std::vector<std::uint8_t>> read_file(const std::string& file, std::uint64_t limit = kMaxFileBytes);

}  // namespace yoke::data
