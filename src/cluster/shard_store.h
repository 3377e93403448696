// One shard's blocks on a server: the present version of every value, the next one while it is made, and the
// optimizer's state. A version lies in one piece of memory that others can be shown; it stays as it is while anybody
// holds it, however long: a reader that is slow, stopped or dead keeps nobody from making the next.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "cluster/block_store.h"
#include "cluster/block_updates.h"
#include "core/block_plan.h"

namespace yoke::cluster {

class ShardStore {
 public:
  // `plan` and `groups` outlive it.
  ShardStore(const core::BlockPlan& plan, const std::vector<Optimizer>& groups, wire::ShardId shard,
             UpdateOptions options, Allocate allocate);

  // Bytes of one version.
  std::size_t bytes() const { return floats_ * sizeof(float); }

  // A block's first values. Before anything else.
  void initialise(wire::BlockId block, std::span<const float> values);

  // Its first values are those of this version.
  void start_at(wire::Version version) { version_ = version; }

  // Takes over the present version of one with the same plan; with its optimizer's state where that means the same.
  // Nothing runs on either.
  void go_on_from(ShardStore& former, bool same_optimizers);

  // Lets go of versions that are not the present one.
  void keep_values_only();

  // Memory for the next version, if it has none yet; false: there is none to be had. Before its first `reduce`.
  bool prepare_next(std::span<const core::Share> shares);
  // Writes the block's next version. From any thread, different blocks at the same time. Of a pass ahead: false, if
  // something was not finite.
  bool reduce(const core::Reduce& pass, std::span<const Part> parts);
  // The same, for a backup to follow: the mean goes to `mean`, as long as the block, and the update is made of it
  // alone.
  bool reduce_by_mean(const core::Reduce& pass, std::span<const Part> parts, float* mean);
  // The next version does not count: it is made again, and where this one lies it stays as it is for who reads it.
  void drop_next();
  // The next version is the present one, with this number.
  void publish(wire::Version version);

  // A block of the present version; held, it stays as it is.
  struct Values {
    std::span<const float> values;
    std::shared_ptr<const void> keep;
    wire::Version made = 0;  // the update that made them: an older one, where none took part since
  };
  Values present(wire::BlockId block) const;
  // Of the next version, once it is written.
  Values next(wire::BlockId block) const;
  // The replica computes on the present version from now on (delay compensation).
  void shown_to(wire::ReplicaId replica);
  // What the part's replica computed on, if that matters.
  void find_then(wire::BlockId block, Part& part) const;
  // The number of the present version.
  wire::Version version() const { return version_; }
  // What the optimizer remembers; to be saved and put back while nothing runs.
  BlockUpdates& updates() { return updates_; }
  // There was memory for the first version.
  bool ready() const { return present_ != nullptr; }

 private:
  using Memory = std::shared_ptr<std::byte>;
  float* at(const Memory& version, wire::BlockId block) const;

  const core::BlockPlan& plan_;
  const wire::ShardId shard_;
  const UpdateOptions options_;
  const Allocate allocate_;
  std::map<wire::BlockId, std::size_t> offsets_;  // in floats
  std::size_t floats_ = 0;
  Memory present_, next_;
  wire::Version version_ = 0;
  std::map<wire::BlockId, wire::Version> made_;
  std::map<wire::ReplicaId, Memory> then_;  // what each computes on (delay compensation)
  BlockUpdates updates_;
};

}  // namespace yoke::cluster
