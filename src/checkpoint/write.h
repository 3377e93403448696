// Writing a checkpoint: every shard its part, then one of them seals it. All synchronous, on the caller's disk thread.
// Until `seal` has renamed the folder nothing of it is taken for a checkpoint; a crash or a power cut anywhere leaves
// what was there before, or the new one whole. What is left of a failure goes with `discard`, or `clean` in a later
// life.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/disk.h"
#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
#include "checkpoint/part_list.h"

namespace yoke::checkpoint {

// A run of floats of one array, as it lies in memory.
struct Piece {
  ArrayName of;
  std::vector<std::int64_t> shape;  // of the whole slot
  std::uint64_t offset = 0;         // in floats, within the slot
  std::span<const float> values;
};

// What one shard has of a checkpoint. Every float of every slot's values is in exactly one part, of frozen slots too.
// State needs a count; where that is 0 the state is as the optimizer begins, and is not written.
struct Part {
  std::vector<Piece> pieces;
  std::vector<Count> counts;
  std::vector<std::shared_ptr<const void>> owners;  // of what the spans show
};

// Writes and flushes the part's files, then its list; the folder is made if it is not there. The list's sum, for
// `seal`.
Result<std::uint64_t> write_part(Disk& disk, const Place& place, const Part& part);

// Every part was written, with these sums by shard: makes a checkpoint of them. Code::missing names the servers whose
// parts are not to be seen here, Code::corrupt what does not fit together. `manifest.parts` need not be filled in. The
// folder's name is sealed_path. An error that comes after the rename (the folder cannot be flushed) leaves one that is
// whole, but may not outlive a power cut.
Status seal(Disk& disk, const Place& place, const Manifest& manifest, const std::vector<std::uint64_t>& sums);

}  // namespace yoke::checkpoint
