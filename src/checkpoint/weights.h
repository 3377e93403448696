// Weights to start from or to measure, wherever they lie.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "yoke/state.h"

namespace yoke::checkpoint {

struct Weights {
  State state;
  std::string from;                     // the file, or the checkpoint's folder
  std::vector<PassedOver> passed_over;  // checkpoints that are damaged
};

// `path`: a model file, one checkpoint, or a folder of them, where the newest that is whole is taken. Of a checkpoint
// the first network. From this machine's disk.
Result<Weights> read_weights(const std::string& path);

}  // namespace yoke::checkpoint
