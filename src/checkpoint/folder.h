// The folder that checkpoints are kept in: its names, and what is tidied up there. docs/recovery.md has the picture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/disk.h"
#include "wire/messages.h"

namespace yoke::checkpoint {

// One checkpoint that is being made, and one shard of it.
struct Place {
  std::string folder;  // that all of them are in
  wire::Version version = 0;
  std::uint64_t token = 0;
  wire::ShardId shard = 0;
  std::uint32_t shards = 1;
};

inline constexpr std::string_view kManifestName = "manifest.json";

// FOLDER/checkpoint-000000000500, and what it is called until it is whole: FOLDER/making-000000000500-TOKEN.
std::string sealed_path(const std::string& folder, wire::Version version);
std::string making_path(const Place& place);
// What a former one of the same version is called while the new one takes its name.
std::string replaced_path(const Place& place);

// The version that a name in the folder says: of a checkpoint, or of one that is just being replaced.
std::optional<wire::Version> version_sealed(std::string_view name);
std::optional<wire::Version> version_replaced(std::string_view name);

// Makes the folder, and those above it that are not there, to last.
Status make_lasting(Disk& disk, const std::string& folder);

// What was written of a checkpoint that will not be sealed. Nothing there: fine.
Status discard(Disk& disk, const Place& place);

// Leaves the newest `keep` (at least 1) of the versions up to `newest`, the one that was sealed last. Later ones are
// damaged, or this training would have gone on from them: they go too. What is no checkpoint is left alone.
Status prune(Disk& disk, const std::string& folder, std::uint32_t keep, wire::Version newest);

// Removes what earlier lives left unfinished, and makes the folder last if they did not come to it. While nobody else
// writes there (lock_folder). No such folder: fine.
Status clean(Disk& disk, const std::string& folder);

}  // namespace yoke::checkpoint
