// Whole files, gzip or plain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::data {

// The largest file that is read, inflated. No set that is read whole comes near it; a damaged one could claim more.
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 30;

// The bytes of `file`, inflated where it is gzip. Errors name the file: it cannot be opened or read
// (Code::missing), it is damaged or cut off, it is longer than `limit` (Code::corrupt). Memory grows with what was
// really read, whatever the file claims.
Result<std::vector<std::uint8_t>> read_file(const std::string& file, std::uint64_t limit = kMaxFileBytes);

// A file or folder that may not be looked at counts as one that is not there.
bool is_there(const std::string& path);

// The error with the file it is about: "prices.csv: line 3 ...".
inline Error within(const std::string& file, const Error& error) { return {error.code, file + ": " + error.message}; }

}  // namespace yoke::data
