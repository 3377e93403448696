// One replica's work on one attached network: takes turns at the cores, keeps the present batch, and makes steps.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "strategy/local_exchange.h"
#include "train/job.h"
#include "yoke/run.h"
#include "yoke/trainable.h"

namespace yoke::train {

class Session {
 public:
  // `turn` is the replica's, shared by its sessions; null: the work takes no core.
  Session(Job& job, cluster::LocalCluster& cluster, std::uint32_t replica, Turn* turn);

  // Takes the seat: the places now hold the chief's values.
  Status attach(cluster::Places places);
  // Tells the job how much data there is (0: it has no size) and waits for the first assignment. Once.
  Status start(std::uint64_t samples, std::uint32_t batch);
  bool started() const { return started_; }

  // Hands in what was `ready`, waits for the verdict and for the next assignment; the places then hold the values for
  // it.
  Result<Outcome> step();

  // Lets time pass without computing, as a slower replica would; less when the step is abandoned meanwhile.
  void pause(Duration duration);

  Exchange& exchange() { return exchange_; }
  const Assignment& assignment() const { return assignment_; }
  std::uint32_t replica() const { return replica_; }
  const Options& options() const { return job_.options(); }
  // Called in the replica's thread whenever a new assignment and its values are in place.
  void on_begin(std::function<void(const Assignment&)> call) { on_begin_ = std::move(call); }
  // Called in the replica's thread after every update, also one without samples of this replica's.
  void on_applied(std::function<void()> call) { on_applied_ = std::move(call); }
  void redirect(cluster::Places places) { cluster_.redirect(replica_, std::move(places)); }

 private:
  Status begin();
  Result<Outcome> finish();

  Job& job_;
  cluster::LocalCluster& cluster_;
  const std::uint32_t replica_;
  Turn* turn_;
  strategy::LocalExchange exchange_;
  Assignment assignment_;
  std::function<void(const Assignment&)> on_begin_;
  std::function<void()> on_applied_;
  bool started_ = false;
};

}  // namespace yoke::train
