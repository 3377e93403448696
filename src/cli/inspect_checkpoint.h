// What checkpoints hold, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/examine.h"
#include "cli/inspect.h"

namespace yoke::cli {

struct CheckpointInspection {
  std::string folder;                             // what was asked for
  std::vector<checkpoint::Examination> all;       // newest first; one when it was asked for itself
  std::vector<Inspection> networks;               // the tensors of the newest that is whole
  const checkpoint::Examination* newest() const;  // none: all are damaged
};

// `folder`: one checkpoint, or a folder that has some. Every file of every checkpoint is read. Code::missing: there is
// none.
Result<CheckpointInspection> inspect_checkpoints(const std::string& folder, bool stats);

std::string as_text(const CheckpointInspection& inspection);
std::string as_json(const CheckpointInspection& inspection);

}  // namespace yoke::cli
