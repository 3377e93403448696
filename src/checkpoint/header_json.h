// The JSON of a model file's header.
#pragma once

#include <string_view>

#include "checkpoint/model_file.h"

namespace yoke::checkpoint {

// Tensors (as they are listed) and words about the model; the rest of the header is left alone, and whether offsets and
// shapes make sense is not asked. Anything but that, and anything twice, is Code::corrupt. Nothing nests deeper than
// the format does, so no input can exhaust the stack.
Result<ModelHeader> read_header_json(std::string_view text);

}  // namespace yoke::checkpoint
