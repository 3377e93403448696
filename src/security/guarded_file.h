// Files that say who this process is, or whom it believes: small, read whole, and only when nobody else could have put
// them there or, for private ones, could have read them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "yoke/error.h"

namespace yoke::security {

enum class Readers {
  owner,      // private: mode 0600
  everybody,  // only its owner may write it: mode 0644
};

// Reads the whole file straight into memory of the caller's, without a copy on the way; returns how many bytes it has.
// An error when it does not fit, is no plain file, belongs to neither this user nor root, or when others may do more
// with it than `readers` says. What was read before an error is wiped.
Result<std::size_t> read_guarded(const std::string& path, Readers readers, std::span<std::byte> into);

// Makes a new file. One that is there already is left alone, and is an error; one that cannot be written to its end is
// removed.
Status write_guarded(const std::string& path, Readers readers, std::span<const std::byte> bytes);

}  // namespace yoke::security
