// Is a file of a checkpoint as it was written?
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/disk.h"
#include "checkpoint/part_list.h"

namespace yoke::checkpoint {

// Reads all of it, in pieces. How many bytes are before its tensors; Code::corrupt names the file, and the tensor that
// does not have its sum.
Result<std::uint64_t> verify_file(Disk& disk, const std::string& path, const ListedFile& listed);

}  // namespace yoke::checkpoint
