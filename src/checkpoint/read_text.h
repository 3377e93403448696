// Small files of a checkpoint, read whole.
#pragma once

#include <string>

#include "checkpoint/disk.h"

namespace yoke::checkpoint {

// At most 100 MB, as long as it was a moment ago; Code::corrupt otherwise, Code::missing when it cannot be read. Both
// name the file.
Result<std::string> read_text(Disk& disk, const std::string& path);

}  // namespace yoke::checkpoint
