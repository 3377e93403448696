// The looks at held-out data that a training has had, on the disk beside its checkpoints: whoever goes on with it, or
// becomes its chief, goes on from them. With them the best version by validation, as a model file.
#pragma once

#include <string>
#include <vector>

#include "yoke/fit.h"

namespace yoke::train {

struct Look {
  std::uint64_t version = 0;
  std::uint64_t counted = 0;  // samples that had counted then
  Evaluation evaluation;
  double seconds = 0;        // of training
  double training_loss = 0;  // since the look before
};

// FOLDER/evaluations.json. None where the file is not there; Code::corrupt where it makes no sense.
Result<std::vector<Look>> read_looks(const std::string& folder);
// Whole or not at all.
Status write_looks(const std::string& folder, const std::vector<Look>& looks);

struct Best {
  std::uint64_t version = 0;
  State state;
};

// FOLDER/best/model.safetensors; none where there is no such file.
Result<std::optional<Best>> read_best(const std::string& folder);
Status write_best(const std::string& folder, std::uint64_t version, State state);

}  // namespace yoke::train
