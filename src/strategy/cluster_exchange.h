// One replica's Exchange with a cluster, wherever that is; the same for every strategy.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "cluster/cluster.h"
#include "core/permutation.h"
#include "history/timeline.h"
#include "yoke/options.h"
#include "yoke/trainable.h"

namespace yoke::strategy {

class ClusterExchange : public Exchange {
 public:
  // `cluster` outlives it. The replica has attached.
  ClusterExchange(cluster::Cluster& cluster, const Options& options, std::uint32_t replica);

  // Joins with data of so many samples (0: without a size). Before the first `begin`.
  void join(std::uint64_t samples, std::uint32_t batch);

  Result<Assignment> begin() override;
  Status await(SlotId slot) override;
  Status ready(SlotId slot, Payload gradient) override;
  std::shared_ptr<std::byte> memory(std::size_t bytes) override { return cluster_.memory(bytes); }
  bool abandoned() const override;
  Result<Outcome> finish() override;
  // How long it has waited for late values, in all.
  Duration awaited() const { return awaited_; }

 private:
  void clip_held_back();
  void push(SlotId slot, Payload gradient);
  void note(history::Span::What what, Time begin, Time end);

  cluster::Cluster& cluster_;
  const Options& options_;
  const std::uint32_t replica_;
  std::uint64_t samples_ = 0;
  std::uint64_t step_ = 0;  // of the present assignment
  Duration awaited_{};

  std::mutex mutex_;  // `ready` may come from any thread
  std::vector<bool> here_;
  std::size_t missing_ = 0;
  // Gradients held back until `finish`: the last one always, so that a gradient is whole only when its replica says
  // that it has finished computing; all of them where they must be clipped by their common norm first.
  std::vector<std::pair<SlotId, Payload>> held_back_;
};

}  // namespace yoke::strategy
