// A seeded virtual world that drives the state machines of core: one sequencer, shards and replicas, a network that
// delays, reorders, repeats and breaks, replicas that die and come back, payloads that arrive damaged. Time is virtual
// and nothing runs in parallel, so a seed is a run that can be had again.
//
// The world does for the machines what a real driver does: it carries out their effects and tells them of the events,
// and keeps the books (whose payload is whose, who installed what) that the history is written from.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/replica_side.h"
#include "core/sequencer.h"
#include "core/shard.h"
#include "history/recorder.h"
#include "sim/links.h"
#include "sim/outcome.h"
#include "sim/payloads.h"
#include "sim/queue.h"
#include "sim/random.h"
#include "sim/shape.h"

namespace yoke::sim {

class World {
 public:
  World(std::uint64_t seed, const SimOptions& options);

  // Once.
  Outcome run();

 private:
  // A replica's process: one life after another.
  struct Process {
    wire::Life life;
    std::unique_ptr<core::ReplicaSide> side;  // none: it is dead
    bool gone = false;                        // for good
    std::vector<wire::Version> in_hand;       // by shard: the parameters it has
    std::optional<wire::GradientId> computing;
  };
  using Tell = std::function<std::string()>;

  // network.cc
  void transmit(const wire::Address& from, const wire::Address& to, const wire::Message& message);
  void arrive(const wire::Address& from, const wire::Address& to, const wire::Message& message, std::uint64_t sent_in);
  Duration time_on_the_way(const wire::Address& from, const wire::Address& to);
  void break_link(const wire::Address& a, const wire::Address& b);
  void break_links_until_peace();

  // drive.cc
  void deliver(const wire::Address& to, core::Event event);
  void perform(const wire::Address& actor, const core::Effects& effects);
  void perform_one(const wire::Address& actor, const core::Effect& effect);
  void verify(wire::ShardId shard, const core::Verify& effect);
  void reduce(wire::ShardId shard, const core::Reduce& effect);

  // processes.cc
  void start(Process& process);
  void crash(Process& process, const std::string& why);
  // The sequencer is told that a life is over, whether it is or not.
  void strike_off(const wire::Life& life);
  void crash_until_peace();
  void hear(Process& process, const core::Event& event);
  void go_on(Process& process);
  void compute(Process& process);
  void push(Process& process, const wire::GradientId& gradient, wire::BlockId block, wire::Ticket ticket);

  // world.cc
  void after(Duration delay, Queue::Action action) { queue_.add(now_ + delay, std::move(action)); }
  bool peace() const { return now_ >= shape_.faults.cease; }
  void stop();
  Duration while_working(double slowness = 1);
  void check_progress();
  void check_end();
  std::string stuck() const;
  void trace(const Tell& line);

  SimOptions options_;
  Shape shape_;
  Random random_;
  Time now_{};
  Queue queue_;
  Links links_;
  Payloads payloads_;
  std::vector<bool> sound_{true};            // by the replicas' own tickets
  std::map<wire::Version, double> squares_;  // by step: of the mean gradient, over all blocks that were measured
  core::Sequencer sequencer_;
  std::vector<core::Shard> shards_;
  std::vector<Process> processes_;
  std::vector<wire::Incarnation> heard_;  // by replica: the newest life whose Hello the sequencer has
  history::Recorder recorder_;
  Outcome outcome_;
};

}  // namespace yoke::sim
