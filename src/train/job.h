// What the replicas that a process has of a job share: the options, a cluster for each attached network, and the turns
// at the cores.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "train/turns.h"
#include "yoke/options.h"

namespace yoke::train {

// Makes the cluster of the `network`-th network, or finds it where it is.
using OpenCluster =
    std::function<Result<std::unique_ptr<cluster::Cluster>>(std::uint32_t network, const Layout& layout)>;

class Job {
 public:
  // `options` have been checked by strategy::plan. `opener` is the replica of this process that opens the networks: the
  // chief where all replicas are here, and where only one is, that one.
  Job(Options options, OpenCluster open, std::uint32_t opener = 0);

  const Options& options() const { return options_; }
  Turns& turns() { return turns_; }

  // The cluster of the `index`-th network that the replicas attach: the opener opens it, the others wait for that and
  // must bring the same layout.
  Result<cluster::Cluster*> cluster(std::size_t index, const Layout& layout, std::uint32_t replica);
  // A replica takes part no more, in any network, also one that is attached later. Harmless when it has left already.
  void leave(std::uint32_t replica, const std::string& reason);
  // How long a replica took for one piece of work, and whether it did it to the end. Only from that replica's thread.
  void add_work(std::uint32_t replica, Duration time, bool whole);
  // Mean in seconds: of the whole pieces or, where there was none, of those given up. When the threads have ended.
  double mean_work(std::uint32_t replica) const;
  // Waits until the opener has brought so many networks, or is gone, or the deadline passes: then the job hangs, for
  // all.
  void await_opener(std::size_t networks);
  // Every replica of this process has left: checkpoints that are under way come to their end.
  void wind_up();
  // The first network's, which counts samples and steps; null when none was attached.
  cluster::Cluster* lead() const;

 private:
  struct Work {
    double whole = 0, cut = 0;  // seconds
    std::uint64_t wholes = 0, cuts = 0;
  };

  const Options options_;
  const OpenCluster open_;
  const std::uint32_t opener_;
  Turns turns_;
  std::vector<Work> work_;  // by replica
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<cluster::Cluster>> clusters_;
  std::map<std::uint32_t, std::string> left_;  // replica -> why
  bool hangs_ = false;                         // the opener did not come in time
  std::condition_variable wake_;
};

}  // namespace yoke::train
