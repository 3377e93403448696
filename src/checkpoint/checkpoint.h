// Reading checkpoints. A Checkpoint exists only when everything in it was found as it was written: sums first, then the
// headers, then that the parts make the whole. Any number of shards reads what any other number wrote.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/cover.h"
#include "checkpoint/disk.h"
#include "checkpoint/manifest.h"
#include "yoke/state.h"

namespace yoke::checkpoint {

class Checkpoint {
 public:
  // The whole folder is read once, and verified. `disk` outlives it. Code::missing: there is no such folder, or no
  // manifest in it; Code::corrupt names the file that is damaged, and the tensor where it lies in one.
  static Result<std::shared_ptr<const Checkpoint>> open(Disk& disk, const std::string& folder);

  const std::string& folder() const { return folder_; }
  const Manifest& manifest() const { return manifest_; }
  const std::vector<PartList>& parts() const { return parts_; }

  // Floats [offset, offset + out.size()) of an array, from whichever parts have them. Code::invalid_argument when there
  // is no such array, or it is shorter. From any thread.
  Status read(const ArrayName& name, std::uint64_t offset, std::span<float> out) const;

  // How many updates made what the optimizer remembers of floats [begin, end) of the slot, at least; 0: it is as the
  // optimizer begins, and there are no arrays of it.
  std::uint64_t updates(std::uint32_t network, const std::string& slot, wire::ReplicaId memory, std::uint64_t begin,
                        std::uint64_t end) const;
  // How many arrays of state there are.
  std::uint32_t arrays(std::uint32_t network, const std::string& slot, wire::ReplicaId memory) const;
  // Whose state there is: 0 alone where all replicas share it.
  std::vector<wire::ReplicaId> memories(std::uint32_t network) const;

  // All values of a network, as a model file has them.
  Result<State> model_state(std::uint32_t network) const;

 private:
  Checkpoint(Disk& disk, std::string folder) : disk_(disk), folder_(std::move(folder)) {}
  Status load();
  Status load_part(wire::ShardId shard);

  Disk& disk_;
  const std::string folder_;
  Manifest manifest_;
  std::vector<PartList> parts_;                         // by shard
  std::vector<std::map<Kind, std::uint64_t>> headers_;  // by shard: bytes before the tensors of its files
  Cover cover_;
};

struct PassedOver {
  std::string folder;
  std::string why;
};

struct Found {
  std::shared_ptr<const Checkpoint> checkpoint;  // none: there are none there
  std::vector<PassedOver> passed_over;           // later ones that are damaged
};

// The newest checkpoint in the folder that is whole. Code::missing: there is no such folder; Code::corrupt: there are
// checkpoints, and each is damaged (named).
Result<Found> newest(Disk& disk, const std::string& folder);

}  // namespace yoke::checkpoint
