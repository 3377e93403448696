// A look at a checkpoint that may be damaged: what can still be said of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace yoke::checkpoint {

struct Examined {
  std::string name;
  std::uint64_t bytes = 0;  // that it has
  std::string wrong;        // empty: it has the sum that was written
};

struct Examination {
  std::string folder;
  std::shared_ptr<const Checkpoint> checkpoint;  // none: it is damaged
  std::string wrong;                             // empty: it is whole
  std::optional<Manifest> manifest;              // none: that is what is damaged
  std::vector<Examined> files;
};

// `disk` outlives the checkpoint in it.
Examination examine(Disk& disk, const std::string& folder);

}  // namespace yoke::checkpoint
