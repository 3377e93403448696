// The twin of another member's slice, as this one holds it: the version that was brought last, and the one before until
// the later is known to be committed.
#pragma once

#include <map>
#include <vector>

#include "cluster/slice.h"

namespace yoke::cluster {

class Twins {
 public:
  // A piece of a version that is being brought, and that it is whole.
  void add(SlicePiece piece);
  void whole(const wire::PiecesDone& done);
  // This version is committed: older ones are not needed.
  void committed(std::uint32_t network, wire::Version version);
  // What has come whole, as slices `shard` of view `view`; they are gone from here then.
  std::vector<HeldSlice> take(std::uint64_t view, wire::ShardId shard);

 private:
  struct Brought {
    Slice slice;
    std::uint32_t shards = 0;  // 0: it is not whole
  };
  std::map<std::uint32_t, std::map<wire::Version, Brought>> networks_;
};

}  // namespace yoke::cluster
