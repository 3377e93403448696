// What the replicas of one job share: the options, a cluster for each attached network, and the turns at the cores.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cluster/local_cluster.h"
#include "train/turns.h"
#include "yoke/options.h"

namespace yoke::train {

class Job {
 public:
  // `options` have been checked by strategy::plan.
  Job(Options options, cluster::LocalOptions local);

  const Options& options() const { return options_; }
  Turns& turns() { return turns_; }

  // The cluster of the `index`-th network that the replicas attach: the first to come makes it, the others must bring
  // the same layout.
  Result<cluster::LocalCluster*> cluster(std::size_t index, const Layout& layout);
  // A replica takes part no more, in any network, also one that is attached later. Harmless when it has left already.
  void leave(std::uint32_t replica, const std::string& reason);
  // The chief has attached its first network; and waiting for that, or for the chief to be gone, or for the deadline.
  void chief_is_ready();
  void await_chief();
  // The first network's, which counts samples and steps; null when none was attached.
  const cluster::LocalCluster* lead() const;

 private:
  const Options options_;
  const cluster::LocalOptions local_;
  Turns turns_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<cluster::LocalCluster>> clusters_;
  std::map<std::uint32_t, std::string> left_;  // replica -> why
  std::condition_variable wake_;
  bool chief_ready_ = false;
};

}  // namespace yoke::train
