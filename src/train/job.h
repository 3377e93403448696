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

  // The cluster of the `index`-th network that the replicas attach: the chief (replica 0) makes it, the others wait for
  // that and must bring the same layout.
  Result<cluster::LocalCluster*> cluster(std::size_t index, const Layout& layout, std::uint32_t replica);
  // A replica takes part no more, in any network, also one that is attached later. Harmless when it has left already.
  void leave(std::uint32_t replica, const std::string& reason);
  // How long a replica took for one piece of work, and whether it did it to the end. Only from that replica's thread.
  void add_work(std::uint32_t replica, Duration time, bool whole);
  // Mean in seconds: of the whole pieces or, where there was none, of those given up. When the threads have ended.
  double mean_work(std::uint32_t replica) const;
  // Waits until the chief has brought so many networks, or is gone, or the deadline passes.
  void await_chief(std::size_t networks);
  // The first network's, which counts samples and steps; null when none was attached.
  const cluster::LocalCluster* lead() const;

 private:
  struct Work {
    double whole = 0, cut = 0;  // seconds
    std::uint64_t wholes = 0, cuts = 0;
  };

  const Options options_;
  const cluster::LocalOptions local_;
  Turns turns_;
  std::vector<Work> work_;  // by replica
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<cluster::LocalCluster>> clusters_;
  std::map<std::uint32_t, std::string> left_;  // replica -> why
  std::condition_variable wake_;
};

}  // namespace yoke::train
