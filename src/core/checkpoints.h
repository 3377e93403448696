// The sequencer's book of checkpoints: the one under way, whose parts of it lie on the disk, and the request that
// waits.
//
// One is under way at a time, until every shard has answered: so a shard never has two to write. One request waits at
// most, the newest: what it gets is a later version than any request before it could have had, so that whoever asked
// before it can be told of that one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/effects.h"

namespace yoke::core {

class Checkpoints {
 public:
  explicit Checkpoints(std::uint32_t shards) : shards_(shards) {}

  void ask(const TakeCheckpoint& request);
  // The request that can be begun; null: none waits, or another checkpoint is under way.
  const TakeCheckpoint* due() const { return waiting_ && !making_ ? &*waiting_ : nullptr; }
  // Its mark is in the log now, and this is where training stands there.
  void begin(Standing standing);
  // Each may be said twice, late, or of a checkpoint that failed long since.
  void on_part(const PartSaved& part, Effects& out);
  void on_sealed(const Sealed& sealed, Effects& out);

  // One is being made, or waits to be.
  bool busy() const { return making_ || waiting_; }

 private:
  struct Making {
    std::uint64_t token = 0;
    Standing standing;
    std::vector<std::optional<std::uint64_t>> sums;  // by shard: it has answered
    std::uint32_t answers = 0;
    bool failed = false;  // and discarded; the rest of the answers are waited for
  };
  void fail(std::string reason, Effects& out);

  std::uint32_t shards_;
  std::optional<Making> making_;
  std::optional<TakeCheckpoint> waiting_;
};

}  // namespace yoke::core
