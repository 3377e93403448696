// Sequencer, shards and replicas of one network, all in this process.
//
// There is no loop thread: the state machines stand behind one lock, and whoever brings an event (a gradient that is
// ready, a pass that is done) delivers it and all that follows from it. State machines take microseconds. The passes
// over the payload are queued and run outside the lock by the replicas that wait, so that on a machine whose cores are
// all busy no thread more is needed: a gradient is verified by the thread that brought it, while it is still in its
// cache; a reduce is done by whoever has nothing else to do.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "cluster/block_store.h"
#include "cluster/checkpointer.h"
#include "cluster/cluster.h"
#include "cluster/tally.h"
#include "core/replica_side.h"
#include "core/sequencer.h"
#include "core/shard.h"
#include "history/recorder.h"
#include "yoke/error.h"
#include "yoke/trainable.h"

namespace yoke::cluster {

// What belongs to this machine and not to the job.
struct LocalOptions {
  Duration deadline = std::chrono::seconds(60);  // of a wait in which nothing at all happens
  Duration spin = Duration::zero();              // how long to look before sleeping; worth it when cores are free
  std::shared_ptr<history::Recorder> recorder;
  std::function<void(const std::string&)> say;  // news in words; may be empty; called under the lock
  std::uint32_t network = 0;                    // its number
  wire::About about{};                          // what is known about the model
  Checkpointer* checkpointer = nullptr;         // outlives its last callback; null: none are made or gone on from
};

class LocalCluster : public Cluster {
 public:
  LocalCluster(Layout layout, wire::JobTerms terms, LocalOptions options);

  const core::BlockPlan& plan() const override { return plan_; }
  const Layout& layout() const override { return layout_; }

  Status attach(wire::ReplicaId replica, Places places) override;
  void join(wire::ReplicaId replica, std::uint64_t samples, std::uint32_t batch) override;
  Result<Work> next(wire::ReplicaId replica) override;
  Status await(wire::ReplicaId, SlotId) override { return {}; }  // `next` has brought all of them
  void push(wire::ReplicaId replica, SlotId slot, Payload gradient) override;
  bool abandoned(wire::ReplicaId replica) const override;
  Result<wire::Verdict> settle(wire::ReplicaId replica) override;
  void leave(wire::ReplicaId replica, const std::string& reason) override;
  void stop(const std::string& reason) override;
  void stir() override;
  void redirect(wire::ReplicaId replica, Places places) override;

  // There is no other process to tell or to hear from, and any replica may do the chief's work.
  void tell(const wire::StepNews&) override {}
  void on_news(std::function<void(const wire::StepNews&)>) override {}
  bool chief(wire::ReplicaId) const override { return true; }
  Result<bool> await_conclusion(wire::ReplicaId) override { return true; }
  bool conclude(wire::ReplicaId) override { return true; }
  std::shared_ptr<std::byte> memory(std::size_t) override { return nullptr; }

  Time now() const override;  // since it was made
  bool done() const override;
  wire::Version committed() const override;
  Result<wire::Account> account() override;
  void wind_up() override;
  void await_disk() override;

 private:
  struct Held {  // a payload that is ours until its release
    Payload payload;
    wire::GradientId gradient;
    wire::BlockId block = 0;
  };
  struct Seat {
    std::optional<core::ReplicaSide> side;
    wire::Sequence taken = 0;   // the last work given to the caller
    std::uint32_t samples = 0;  // in the present work
    std::uint32_t batch = 1;    // samples a step where no ledger says
    std::atomic<bool> abandoned{false};
    const float* place = nullptr;  // of its first slot
    bool attached = false;
    bool inside = false;  // in `next` or `settle`: it does not look at its parameters
    bool left = false;
  };
  struct Job {  // a pass to be run outside the lock
    wire::ShardId shard = 0;
    std::variant<core::Measure, core::Reduce> pass;
  };
  using Lock = std::unique_lock<std::mutex>;

  void deliver(const wire::Address& to, core::Event event);
  void drain();
  void carry_out(const wire::Address& actor, const core::Effect& effect);
  void verify_all(Lock& lock);
  bool run_one(Lock& lock);
  Status wait(Lock& lock, wire::ReplicaId replica, const char* doing, const std::function<bool()>& until);
  Error give_up(wire::ReplicaId replica, const char* doing);
  void install(Lock& lock, wire::ReplicaId replica);
  bool may_run(const Job& job) const;
  // local_checkpoints.cc
  Status load(const Places& places);
  void capture(wire::ShardId shard, const core::Capture& capture);
  void seal(const core::Seal& seal);
  void discard(const core::Discard& discard);
  void announce(const core::Announce& announce);
  std::optional<core::TakeCheckpoint> due();
  wire::GradientId current(wire::ReplicaId replica) const;
  void record(history::What what) {
    if (options_.recorder) options_.recorder->add(now(), std::move(what));
  }

  const Layout layout_;
  const wire::JobTerms terms_;
  const LocalOptions options_;
  const bool in_place_;
  const core::BlockPlan plan_;
  const std::chrono::steady_clock::time_point origin_ = std::chrono::steady_clock::now();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<std::uint64_t> changes_{0};  // grows with every event: what a spinning thread looks at
  std::unique_ptr<BlockStore> store_;
  core::Sequencer sequencer_;
  std::vector<core::Shard> shards_;
  std::vector<std::unique_ptr<Seat>> seats_;
  Tally tally_;
  std::uint64_t next_record_ = 0;

  std::deque<std::pair<wire::Address, core::Event>> inbox_;
  std::deque<std::pair<wire::ShardId, core::Verify>> to_verify_;
  std::deque<Job> jobs_;
  unsigned running_ = 0;  // passes outside the lock at this moment
  std::unordered_map<wire::Ticket, Held> held_;
  std::vector<Payload> let_go_;  // released payloads, freed outside the lock
  wire::Ticket next_ticket_ = 1;
  std::vector<std::vector<float>> first_;   // the chief's values by slot, until every replica has them
  std::vector<std::vector<float>> frozen_;  // those that are not trained, by slot, for checkpoints
  std::size_t attached_ = 0;
  bool initialised_ = false;
  std::optional<Error> given_up_;  // nothing at all happened for the deadline: why, for everybody
  bool terms_written_ = false;
  bool redirected_ = false;  // the users' own optimizers make the parameters
  bool last_asked_ = false;  // training is over, and the last checkpoint was asked for
};

}  // namespace yoke::cluster
