// Files that are whole or not there.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "yoke/error.h"

namespace yoke {

// Writes the parts, one behind the other, to FILE.tmp-PID beside the file, flushes that to the disk, renames it and
// flushes the folder. What was there before stays until the rename, whatever happens. An error (no such folder, a full
// disk) is Code::missing and names the file and the reason; nothing is left behind then.
Status write_whole(const std::string& file, std::span<const std::span<const std::byte>> parts);

}  // namespace yoke
