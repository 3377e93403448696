// A slice of a network in memory, as it is held twice and handed on (mirrored between processes): the values of some
// blocks at one version, and what the optimizer remembers of them. Pieces are held, not copied: in shared memory a twin
// holds the pages that their owner wrote, and they outlive it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cluster/shard_store.h"
#include "core/block_plan.h"
#include "wire/job.h"
#include "yoke/error.h"

namespace yoke::cluster {

struct SlicePiece {
  wire::Piece what;
  std::span<const float> values;
  std::shared_ptr<const void> keep;
};

struct Slice {
  std::vector<SlicePiece> pieces;
  std::optional<wire::Standing> standing;
};

// What a member has: which slice, and its bytes.
struct HeldSlice {
  wire::Holding which;
  Slice slice;
};

// The piece's floats among those of the block; nothing: they have none in common.
std::optional<SlicePiece> cut(const SlicePiece& piece, const core::Block& block);

// What a shard has in its memory of a version: the present one, or the next, once it is made.
Slice slice_of(ShardStore& store, const core::BlockPlan& plan, wire::ShardId shard, std::uint32_t network, bool next);

// What a process takes over of a network when the job is formed anew: pieces that make up its new slice, in any order.
class Inheritance {
 public:
  struct Network {
    wire::Version version = 0;
    std::optional<wire::Standing> standing;
  };

  explicit Inheritance(std::vector<Network> networks) : networks_(std::move(networks)) {}

  const std::vector<Network>& networks() const { return networks_; }
  void add(SlicePiece piece);
  // Fills `out`, floats from `offset` on of a slot's values or of an array; an error: not all of them are here.
  Status read(std::uint32_t network, SlotId slot, std::uint32_t array, std::uint64_t offset,
              std::span<float> out) const;
  // Fills a shard's values and what its optimizer remembers; before anything else.
  Status fill(ShardStore& store, const core::BlockPlan& plan, wire::ShardId shard, std::uint32_t network) const;
  // How many updates made the state of the slot; 0: there is none.
  std::uint64_t updates(std::uint32_t network, SlotId slot) const;

 private:
  struct Key {
    std::uint32_t network = 0, slot = 0, array = 0;
    auto operator<=>(const Key&) const = default;
  };
  std::vector<Network> networks_;
  std::map<Key, std::map<std::uint64_t, SlicePiece>> pieces_;  // by offset
};

}  // namespace yoke::cluster
