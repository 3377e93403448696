// All of some bytes to a descriptor, however often the system has to be asked.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>

namespace yoke {

// Answers 0, or the errno that says why not.
inline int write_all(int out, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto wrote = ::write(out, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
  return 0;
}

}  // namespace yoke
