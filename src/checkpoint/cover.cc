#include "checkpoint/cover.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/corrupt.h"
#include "checkpoint/model_file.h"

namespace yoke::checkpoint {
namespace {

std::string in_words(const ArrayName& name) {
  auto words = fmt::format("'{}'", printable(name.slot));
  if (name.network > 0) words += fmt::format(" of network {}", name.network);
  if (name.kind == Kind::state) words = fmt::format("the optimizer's state {} of {}", name.array, words);
  if (name.memory > 0) words += fmt::format(" for replica {}", name.memory);
  return words;
}

// The slots of all networks by name.
using Slots = std::map<std::pair<std::uint32_t, std::string>, const Slot*>;

Status add(const PartList& list, const Slots& slots, Cover& cover) {
  for (const auto& file : list.files) {
    const auto name = file_name(list.shard, list.shards, file.kind);
    std::uint64_t at = 0;
    for (const auto& tensor : file.tensors) {
      const auto slot = slots.find({tensor.of.network, tensor.of.slot});
      if (slot == slots.end() || tensor.end > slot->second->size() || tensor.begin >= tensor.end)
        return corrupt(fmt::format("{}: tensor {} is of no slot that the manifest has", name, printable(tensor.name)));
      cover.arrays[tensor.of].push_back({tensor.begin, tensor.end, list.shard, at});
      at += tensor.end - tensor.begin;
    }
  }
  for (const auto& count : list.counts) {
    cover.updates[{count.network, count.slot, count.memory}][list.shard] = count.updates;
    if (!slots.contains({count.network, count.slot}))
      return corrupt(fmt::format("{}: counts updates of '{}', which the manifest does not have",
                                 list_name(list.shard, list.shards), printable(count.slot)));
  }
  return {};
}

Status check_whole(const ArrayName& name, std::vector<Located>& pieces, std::uint64_t size) {
  std::sort(pieces.begin(), pieces.end(), [](const Located& a, const Located& b) { return a.begin < b.begin; });
  std::uint64_t at = 0;
  for (const auto& piece : pieces) {
    if (piece.begin != at)
      return corrupt(fmt::format("{}: floats {} to {} are {}", in_words(name), std::min(at, piece.begin),
                                 std::max(at, piece.begin), piece.begin > at ? "in no part" : "there twice"));
    at = piece.end;
  }
  if (at == size) return {};
  return corrupt(fmt::format("{}: floats {} to {} are in no part", in_words(name), at, size));
}

}  // namespace

Result<Cover> cover_of(const Manifest& manifest, std::span<const PartList> lists) {
  Slots slots;
  for (std::uint32_t network = 0; network < manifest.networks.size(); ++network)
    for (const auto& slot : manifest.networks[network].layout.slots) slots[{network, slot.name}] = &slot;
  Cover cover;
  for (const auto& list : lists) {
    if (list.version != manifest.version)
      return corrupt(fmt::format("{}: it is of version {}, the manifest of {}", list_name(list.shard, list.shards),
                                 list.version, manifest.version));
    if (auto status = add(list, slots, cover); !status) return status.error();
  }
  for (const auto& [key, slot] : slots)
    if (slot->size() > 0) cover.arrays[{key.first, key.second}];
  for (auto& [name, pieces] : cover.arrays) {
    const auto size = slots.at({name.network, name.slot})->size();
    if (auto status = check_whole(name, pieces, size); !status) return status.error();
    if (name.kind == Kind::values) continue;
    const auto& counts = cover.updates[{name.network, name.slot, name.memory}];
    for (const auto& piece : pieces)
      if (!counts.contains(piece.shard))
        return corrupt(fmt::format("{}: part {} does not say how many updates made it", in_words(name), piece.shard));
    auto before = name;
    if (name.array > 0 && (--before.array, !cover.arrays.contains(before)))
      return corrupt(fmt::format("{}: the one before it is in no part", in_words(name)));
  }
  return cover;
}

}  // namespace yoke::checkpoint
