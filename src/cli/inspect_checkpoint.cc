#include "cli/inspect_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint/folder.h"

namespace yoke::cli {
namespace {

// A network's slots as the tensors of a model file would be.
Result<Inspection> tensors_of(const checkpoint::Checkpoint& from, std::uint32_t network, bool stats) {
  Inspection inspection{from.folder(), {}, {}};
  auto& header = inspection.header;
  for (const auto& slot : from.manifest().networks[network].layout.slots) {
    const auto bytes = slot.size() * sizeof(float);
    header.tensors.push_back({slot.name, "F32", slot.shape, header.data_bytes, header.data_bytes + bytes});
    header.data_bytes += bytes;
    if (!stats) continue;
    std::vector<float> values(slot.size());
    if (auto read = from.read({network, slot.name}, 0, values); !read) return read.error();
    inspection.stats.emplace_back(stats_of({values.begin(), values.end()}));
  }
  return inspection;
}

// The checkpoints' folders, newest first.
Result<std::vector<std::string>> folders_in(const std::string& folder) {
  const auto names = checkpoint::posix_disk().list(folder);
  if (!names) return names.error();
  if (std::find(names->begin(), names->end(), checkpoint::kManifestName) != names->end()) return std::vector{folder};
  std::vector<std::pair<wire::Version, std::string>> found;
  for (const auto& name : *names)
    if (const auto version = checkpoint::version_sealed(name)) found.emplace_back(*version, folder + "/" + name);
  std::sort(found.begin(), found.end(), std::greater<>());
  if (found.empty())
    return Error{Code::missing, fmt::format("{}: there is no checkpoint in this folder, and it is none", folder)};
  std::vector<std::string> folders;
  for (auto& [version, path] : found) folders.push_back(std::move(path));
  return folders;
}

}  // namespace

const checkpoint::Examination* CheckpointInspection::newest() const {
  const auto whole = std::find_if(all.begin(), all.end(), [](const auto& one) { return one.checkpoint != nullptr; });
  return whole == all.end() ? nullptr : &*whole;
}

Result<CheckpointInspection> inspect_checkpoints(const std::string& folder, bool stats) {
  const auto folders = folders_in(folder);
  if (!folders) return folders.error();
  CheckpointInspection inspection{folder, {}, {}};
  for (const auto& one : *folders) inspection.all.push_back(checkpoint::examine(checkpoint::posix_disk(), one));
  const auto* newest = inspection.newest();
  const auto networks = newest ? newest->manifest->networks.size() : 0;
  for (std::uint32_t network = 0; network < networks; ++network) {
    auto tensors = tensors_of(*newest->checkpoint, network, stats);
    if (!tensors) return tensors.error();
    inspection.networks.push_back(std::move(*tensors));
  }
  return inspection;
}

}  // namespace yoke::cli
