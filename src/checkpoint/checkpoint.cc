#include "checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/folder.h"
#include "checkpoint/model_file.h"
#include "checkpoint/read_text.h"
#include "checkpoint/strict_json.h"
#include "checkpoint/verify.h"

namespace yoke::checkpoint {

Result<std::shared_ptr<const Checkpoint>> Checkpoint::open(Disk& disk, const std::string& folder) {
  const std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(disk, folder));
  if (auto status = checkpoint->load(); !status) return status.error();
  return std::shared_ptr<const Checkpoint>(checkpoint);
}

Status Checkpoint::load() {
  const auto path = fmt::format("{}/{}", folder_, kManifestName);
  const auto text = read_text(disk_, path);
  if (!text) return text.error();
  auto manifest = parse_manifest(*text);
  if (!manifest) return Error{manifest.error().code, fmt::format("{}: {}", path, manifest.error().message)};
  manifest_ = std::move(*manifest);
  for (wire::ShardId shard = 0; shard < manifest_.parts.size(); ++shard)
    if (auto status = load_part(shard); !status) return status;
  auto cover = cover_of(manifest_, parts_);
  if (!cover) return Error{cover.error().code, fmt::format("{}/{}", folder_, cover.error().message)};
  cover_ = std::move(*cover);
  return {};
}

Status Checkpoint::load_part(wire::ShardId shard) {
  const auto shards = static_cast<std::uint32_t>(manifest_.parts.size());
  const auto path = fmt::format("{}/{}", folder_, list_name(shard, shards));
  const auto corrupt = [&](std::string_view why) { return Error{Code::corrupt, fmt::format("{}: {}", path, why)}; };
  const auto text = read_text(disk_, path);
  if (!text) return Error{Code::corrupt, text.error().message};
  auto list = parse_part_list(*text);
  if (!list) return corrupt(list.error().message);
  if (sum_of(*text) != manifest_.parts[shard]) return corrupt("it is not the list that the manifest was made for");
  if (list->shard != shard || list->shards != shards) return corrupt("it is the list of another part");
  auto& headers = headers_.emplace_back();
  for (const auto& file : list->files) {
    const auto before = verify_file(disk_, fmt::format("{}/{}", folder_, file_name(shard, shards, file.kind)), file);
    if (!before) return before.error();
    headers[file.kind] = *before;
  }
  parts_.push_back(std::move(*list));
  return {};
}

Status Checkpoint::read(const ArrayName& name, std::uint64_t offset, std::span<float> out) const {
  const auto found = cover_.arrays.find(name);
  const auto size = found == cover_.arrays.end() ? 0 : found->second.back().end;
  if (offset > size || out.size() > size - offset)
    return Error{Code::invalid_argument, fmt::format("{}: has {} floats of '{}', asked for were {} to {}", folder_,
                                                     size, printable(name.slot), offset, offset + out.size())};
  if (out.empty()) return {};
  auto piece = std::upper_bound(found->second.begin(), found->second.end(), offset,
                                [](std::uint64_t at, const Located& located) { return at < located.end; });
  while (!out.empty()) {
    const auto run = std::min<std::uint64_t>(out.size(), piece->end - offset);
    const auto file = file_name(piece->shard, static_cast<std::uint32_t>(parts_.size()), name.kind);
    const auto at = headers_[piece->shard].at(name.kind) + (piece->at + offset - piece->begin) * sizeof(float);
    const auto bytes = std::as_writable_bytes(out.first(run));
    const auto got = disk_.read(fmt::format("{}/{}", folder_, file), at, bytes);
    if (!got) return got.error();
    if (*got != bytes.size())
      return Error{Code::corrupt, fmt::format("{}/{}: became shorter while it was read", folder_, file)};
    offset += run;
    out = out.subspan(run);
    ++piece;
  }
  return {};
}

std::uint64_t Checkpoint::updates(std::uint32_t network, const std::string& slot, wire::ReplicaId memory,
                                  std::uint64_t begin, std::uint64_t end) const {
  const auto counts = cover_.updates.find({network, slot, memory});
  const auto pieces = cover_.arrays.find({network, slot, Kind::state, memory, 0});
  if (counts == cover_.updates.end() || pieces == cover_.arrays.end()) return 0;
  std::uint64_t least = UINT64_MAX;
  for (const auto& piece : pieces->second)
    if (piece.begin < end && begin < piece.end) least = std::min(least, counts->second.at(piece.shard));
  return least == UINT64_MAX ? 0 : least;
}

std::uint32_t Checkpoint::arrays(std::uint32_t network, const std::string& slot, wire::ReplicaId memory) const {
  std::uint32_t count = 0;
  while (cover_.arrays.contains({network, slot, Kind::state, memory, count})) ++count;
  return count;
}

std::vector<wire::ReplicaId> Checkpoint::memories(std::uint32_t network) const {
  std::vector<wire::ReplicaId> memories;
  for (const auto& [key, counts] : cover_.updates)
    if (std::get<0>(key) == network && std::ranges::any_of(counts, [](const auto& count) { return count.second > 0; }))
      memories.push_back(std::get<2>(key));
  std::sort(memories.begin(), memories.end());
  memories.erase(std::unique(memories.begin(), memories.end()), memories.end());
  return memories;
}

Result<State> Checkpoint::model_state(std::uint32_t network) const {
  if (network >= manifest_.networks.size())
    return Error{Code::invalid_argument,
                 fmt::format("{}: has {} networks, and no number {}", folder_, manifest_.networks.size(), network)};
  const auto& facts = manifest_.networks[network];
  State state;
  state.about = facts.about;
  for (const auto& slot : facts.layout.slots) {
    StateTensor tensor{slot.name, DType::f32, slot.shape, {}};
    std::vector<float> values(slot.size());
    if (auto status = read({network, slot.name}, 0, values); !status) return status.error();
    const auto bytes = std::as_bytes(std::span(values));
    tensor.bytes.assign(bytes.begin(), bytes.end());
    state.tensors.push_back(std::move(tensor));
  }
  return state;
}

}  // namespace yoke::checkpoint
