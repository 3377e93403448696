#include "checkpoint/weights.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/folder.h"
#include "checkpoint/model_file.h"

namespace yoke::checkpoint {

Result<Weights> read_weights(const std::string& path) {
  auto& disk = posix_disk();
  const auto names = disk.list(path);
  if (!names) {  // no folder
    auto state = read_model(path);
    if (!state) return state.error();
    return Weights{std::move(*state), path, {}};
  }
  Found found;
  if (std::find(names->begin(), names->end(), kManifestName) != names->end()) {
    auto opened = Checkpoint::open(disk, path);
    if (!opened) return opened.error();
    found.checkpoint = std::move(*opened);
  } else {
    auto searched = newest(disk, path);
    if (!searched) return searched.error();
    found = std::move(*searched);
  }
  if (!found.checkpoint)
    return Error{Code::missing, fmt::format("{}: there is no checkpoint in this folder: name one that has some, or a "
                                            "model file (safetensors)",
                                            path)};
  auto state = found.checkpoint->model_state(0);
  if (!state) return state.error();
  return Weights{std::move(*state), found.checkpoint->folder(), std::move(found.passed_over)};
}

}  // namespace yoke::checkpoint
