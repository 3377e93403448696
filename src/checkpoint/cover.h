// What the parts of a checkpoint hold together, by their lists: every value once, every state whole, the counts agreed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "checkpoint/manifest.h"
#include "checkpoint/part_list.h"

namespace yoke::checkpoint {

// Where floats [begin, end) of an array lie.
struct Located {
  std::uint64_t begin = 0, end = 0;
  wire::ShardId shard = 0;
  std::uint64_t at = 0;  // float, in the bytes that follow the file's header
};

struct Cover {
  std::map<ArrayName, std::vector<Located>> arrays;  // in order, without gaps or overlaps, over the whole slot
  // By shard: a part that was lost and made up for may have a younger state than the others.
  std::map<std::tuple<std::uint32_t, std::string, wire::ReplicaId>, std::map<wire::ShardId, std::uint64_t>> updates;
};

// Code::corrupt names the part's file, or the slot, that does not fit the manifest: so neither can a checkpoint be
// sealed that would not load, nor one be loaded that is not whole.
Result<Cover> cover_of(const Manifest& manifest, std::span<const PartList> lists);

}  // namespace yoke::checkpoint
