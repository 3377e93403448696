// One replica's work on one attached network: takes turns at the cores, keeps the present batch, and makes steps.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "strategy/cluster_exchange.h"
#include "train/job.h"
#include "yoke/run.h"
#include "yoke/trainable.h"

namespace yoke::train {

class Session {
 public:
  // `turn` is the replica's, shared by its sessions; null: the work takes no core.
  Session(Job& job, cluster::Cluster& cluster, std::uint32_t replica, Turn* turn);

  // Takes the seat: the places now hold the chief's values.
  Status attach(cluster::Places places);
  // Tells the job how much data there is (0: it has no size) and waits for the first assignment. Once.
  Status start(std::uint64_t samples, std::uint32_t batch);
  bool started() const { return started_; }

  // Hands in what was `ready`, waits for the verdict and for the next assignment; the places then hold the values for
  // it. `whole`: the work was done to the end although it was abandoned, and tells how long it takes.
  Result<Outcome> step(bool whole = false);

  // From now on a step begins when it is known what it is about, and whoever computes awaits late values himself.
  void leave_late() { leaves_late_ = true; }
  // All values of the present assignment are there; Code::cancelled: they do not come, the step is lost.
  Status await_values();

  // Lets time pass without computing, as a slower replica would; less when the step is abandoned meanwhile, unless it
  // is to be whole.
  void pause(Duration duration, bool whole = false);
  // How long the replica has been at the present assignment, since it had its parameters and a turn.
  Duration at_work() const { return std::chrono::steady_clock::now() - begun_ - (awaited() - awaited_before_); }
  // How long the replica has waited for late values, in all.
  Duration awaited() const { return exchange_.awaited(); }

  // Ends the job for all replicas: what is decided is committed, and that is that.
  void stop(const std::string& reason) { cluster_.stop(reason); }
  // Says that this replica is there, while it does something else than computing a gradient.
  void stir() { cluster_.stir(); }
  // Notes in the job's timeline, if it keeps one, that the replica has done this since `begin` (on `clock`).
  void note(history::Span::What what, Time begin);
  Time clock() const { return cluster_.now(); }
  std::uint64_t committed() const { return cluster_.committed(); }

  // Does this replica evaluate and report? In one process any does that finds it due.
  bool chief() const { return cluster_.chief(replica_); }
  // When training is over (see Cluster).
  Result<bool> await_conclusion() { return cluster_.await_conclusion(replica_); }
  bool conclude() { return cluster_.conclude(replica_); }
  bool drained() const { return cluster_.drained(replica_); }
  // To the chief, if that is in another process; and what the chief hears of the others (see Cluster::on_news).
  void tell(const wire::StepNews& news) { cluster_.tell(news); }
  void on_news(std::function<void(const wire::StepNews&)> call) { cluster_.on_news(std::move(call)); }
  // What it all amounted to so far.
  Result<wire::Account> account() const { return cluster_.account(); }

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
  cluster::Cluster& cluster_;
  const std::uint32_t replica_;
  Turn* turn_;
  strategy::ClusterExchange exchange_;
  Assignment assignment_;
  std::uint64_t begun_so_far_ = 0;
  std::chrono::steady_clock::time_point begun_;
  Time begun_on_clock_{};
  Duration awaited_before_{};
  std::function<void(const Assignment&)> on_begin_;
  std::function<void()> on_applied_;
  bool started_ = false;
  bool leaves_late_ = false;
};

}  // namespace yoke::train
