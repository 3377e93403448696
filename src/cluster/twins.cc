#include "cluster/twins.h"

#include <utility>

namespace yoke::cluster {

void Twins::add(SlicePiece piece) {
  auto& brought = networks_[piece.what.network][piece.what.of];
  brought.slice.pieces.push_back(std::move(piece));
}

void Twins::whole(const wire::PiecesDone& done) {
  auto& brought = networks_[done.network][done.of];
  brought.slice.standing = done.standing;
  brought.shards = done.shards;
}

void Twins::committed(std::uint32_t network, wire::Version version) {
  auto& versions = networks_[network];
  versions.erase(versions.begin(), versions.lower_bound(version));
}

std::vector<HeldSlice> Twins::take(std::uint64_t view, wire::ShardId shard) {
  std::vector<HeldSlice> all;
  for (auto& [network, versions] : std::exchange(networks_, {}))
    for (auto& [version, brought] : versions)
      if (brought.shards > 0)
        all.push_back(
            {{view, network, shard, brought.shards, version, brought.slice.standing}, std::move(brought.slice)});
  return all;
}

}  // namespace yoke::cluster
