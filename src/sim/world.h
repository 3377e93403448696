// A seeded virtual world that drives the state machines of core: one sequencer, shards and replicas, a network that
// delays, reorders, repeats and breaks, replicas that die, stand still, are drained and come back, payloads that arrive
// damaged, a disk that fails and loses what was not flushed, jobs that are lost as a whole and go on from a checkpoint.
// Time is virtual and nothing runs in parallel, so a seed is a run that can be had again.
//
// The world does for the machines what a real driver does: it carries out their effects and tells them of the events,
// and keeps the books (whose payload is whose, who installed what) that the history is written from.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/faulty_disk.h"
#include "checkpoint/folder.h"
#include "checkpoint/memory_disk.h"
#include "core/backup.h"
#include "core/coordinator.h"
#include "core/forming.h"
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
#include "sim/values.h"

namespace yoke::sim {

// Where the simulated jobs keep their checkpoints.
inline constexpr const char* kCheckpointFolder = "runs/checkpoints";

class World {
 public:
  World(std::uint64_t seed, const SimOptions& options);

  // Once.
  Outcome run();

 private:
  // What a process has of a version: its own shard's, or what another brought.
  struct Slice {
    wire::Holding holding;
    bool twin = false;
    std::map<wire::BlockId, std::uint64_t> values;
  };
  // A replica's process: one life after another.
  struct Process {
    wire::Life life;
    std::unique_ptr<core::ReplicaSide> side;  // none: it is dead
    bool gone = false;                        // for good
    std::vector<wire::Version> in_hand;       // by shard: the parameters it has
    std::optional<wire::GradientId> computing;
    Time still_until{};             // it does nothing before
    std::vector<core::Event> held;  // what came meanwhile
    bool away = false;              // lost, with all that it hosted
    Time back_at{};                 // lost: when it comes back
    bool found_it_over = false;     // it came back, and all were through
    std::vector<Slice> kept;        // the twin of another's slice: the newest, and the one before until that can go
    std::vector<Slice> former;      // of views before, until this one has made something
  };
  // Each slice is held twice: by whom in the view that began last, and which of those have been lost since.
  struct Footing {
    std::vector<wire::ReplicaId> holders;  // by shard; the next one's has the twin
    std::set<wire::ReplicaId> lost;
  };
  // A server's process, where a coordinator says what it hosts.
  struct ServerHost {
    wire::Host host;
    bool up = false;
    Time cut_until{};                      // nothing reaches it before, nor does it reach others
    std::optional<wire::ServerView> view;  // it is at it
    std::uint64_t laid_down = 0;           // the view that it was in last, and its revision
    std::uint64_t laid_revision = 0;
    std::optional<wire::ShardId> primary_of, backup_of;
    std::uint64_t since = 0;  // a backup's: the revision that it came with
    std::vector<Slice> kept;  // what it has of the view that it laid down, or begins with
    std::optional<core::Backup> backup;
    std::map<wire::Version, std::map<wire::BlockId, std::uint64_t>> brought;  // the backup's values
    std::string backup_lost;                                                  // a primary's: why; empty: it is not
    bool attended = false;      // the coordinator knows what it has laid down
    std::uint64_t link = 0;     // which connection to the coordinator it has
    std::uint64_t told_on = 0;  // on which the coordinator speaks to it
    Time heard{}, said{};       // when the last word between it and the coordinator arrives
  };
  // Thrown by the disk: the job is lost in the middle of writing.
  struct JobLost {};
  // Thrown where a process dies: its shard is lost with it, and its twin of another's.
  struct ProcessLost {
    wire::ReplicaId replica = 0;
    std::string why;
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
  void keep(wire::ShardId shard, const core::Reduce& made);

  // processes.cc
  void start(Process& process);
  void crash(Process& process, const std::string& why);
  // The sequencer is told that a life is over, whether it is or not.
  void strike_off(const wire::Life& life);
  void crash_until_peace();
  void drain_until_peace();
  void stand_still_until_peace();
  void stand_still(Process& process);
  void wake(const wire::Life& life);
  void hear(Process& process, const core::Event& event);
  void go_on(Process& process);
  void compute(Process& process);
  void push(Process& process, const wire::GradientId& gradient, wire::BlockId block, wire::Ticket ticket);

  // saving.cc
  void ask_for_checkpoints();
  void capture(wire::ShardId shard, const core::Capture& effect);
  void seal(const core::Seal& effect);
  void announce(const core::Announce& effect);
  std::optional<Status> fault(std::uint64_t number, std::string_view operation, const std::string& path);
  checkpoint::Place place_of(std::uint64_t token, wire::Version version, wire::ShardId shard) const;
  Duration disk_time();

  // views.cc
  void mirror(wire::ShardId shard, const core::Mirror& effect);
  void keep(Process& process, Slice slice);
  void learn_committed(Process& process, wire::Version version);
  void shown(wire::ShardId shard);
  Slice slice_of(wire::ShardId shard, wire::Version version, const std::optional<core::Standing>& standing) const;
  bool may_lose(wire::ReplicaId replica) const;
  void lose_process(const ProcessLost& lost);
  void lose_some_process();
  void threaten(wire::ReplicaId replica, Duration within);
  void await_departure();
  void come_back(wire::ReplicaId replica);
  void stop_view();
  void muster();
  core::Attendance attendance();
  void form_view();
  void gather(const wire::View& view);
  void bring_slices(const wire::View::Network& network);
  void begin_view(const std::optional<core::Standing>& standing);

  // servers.cc, coordinating.cc, losing_servers.cc
  void begin_servers();
  void lasting(Duration delay, Queue::Action action) { queue_.add(now_ + delay, std::move(action), true); }
  Duration notice();
  ServerHost* host_of(wire::Incarnation life);
  bool cut(const ServerHost& server) const { return server.cut_until > now_; }
  void start_server(std::size_t which);
  void attend(wire::Incarnation life);
  void tell_server(wire::Incarnation life, Queue::Action action);
  void coordinate(const core::CoordinatorEvent& event);
  void let_go_of_others(const wire::ServerView& view);
  void ask_replicas();
  bool replica_has(wire::ShardId shard, wire::Version version) const;
  void tick_coordinator();
  void lose_coordinator();
  void told(wire::Incarnation life, const wire::ServerView& view);
  void take_revision(ServerHost& server, const wire::ServerView& view);
  void lay_down(wire::Incarnation life, std::uint64_t view, const std::string& why);
  bool at_work(wire::ShardId shard) const { return !shape_.servers.coordinated || running_.at(shard); }
  void begin_server_view(const wire::ServerView& view);
  void to_backup(wire::ShardId shard, bool slice, wire::Version version);
  void hear_backup(wire::Incarnation life, const core::Event& event, std::map<wire::BlockId, std::uint64_t> values);
  void tell_filled(wire::ShardId shard);
  std::vector<wire::Incarnation> holders(wire::ShardId shard) const;
  bool may_lose_server(wire::Incarnation life);
  void lose_servers();
  void lose_server(ServerHost& server, bool dies);
  void threaten_server(wire::Incarnation life, Duration within, double chance);
  void lose_connections(const ServerHost& server);

  // recovery.cc
  void begin_job();
  void begin_work();
  void await_loss();
  void lose_job();
  void rot_newest();
  void resume();
  void make_machines(const std::optional<core::Standing>& standing);
  history::Terms terms() const;
  core::Standing beginning() const;  // where a job stands that goes on from nothing

  // world.cc
  void after(Duration delay, Queue::Action action) { queue_.add(now_ + delay, std::move(action)); }
  bool peace() const { return now_ >= shape_.faults.cease; }
  void stop();
  Duration while_working(double slowness = 1);
  bool through() const;
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
  Random fate_;                              // of the disk, of checkpoints and of the job as a whole
  checkpoint::MemoryDisk disk_;
  checkpoint::FaultyDisk faulty_;
  std::optional<std::uint64_t> doom_;  // the operation of the disk that the job is lost in
  std::uint32_t losses_left_ = 0;
  std::uint64_t next_token_ = 1;
  wire::Version asked_at_ = 0;                     // what was committed when a checkpoint was asked for last
  std::uint32_t asked_in_vain_ = 0;                // how often in a row that was the same
  std::map<std::uint64_t, wire::Version> marked_;  // by token
  std::set<wire::Version> rotten_;                 // checkpoints that were damaged on purpose
  Values values_;
  std::vector<wire::Incarnation> born_;  // by replica: its newest life
  core::Sequencer sequencer_;
  std::vector<core::Shard> shards_;
  std::vector<Process> processes_;
  std::vector<wire::Incarnation> heard_;  // by replica: the newest life whose Hello the sequencer has
  std::uint64_t view_ = 1;
  std::vector<wire::ReplicaId> members_;  // of the view; the first hosts the first shard, and so on
  wire::ReplicaId chief_ = 0;
  wire::Version view_from_ = 0;  // the version that it began with
  bool mustering_ = false;       // the view is over, and the next has not begun
  std::vector<std::optional<core::Standing>> standings_, next_standings_;  // by shard: of what it shows, and has made
  std::uint32_t slices_missing_ = 0;                                       // until it can begin
  Footing footing_;
  std::uint32_t departures_left_ = 0;
  std::vector<ServerHost> servers_;
  std::optional<core::Coordinator> coordinator_;
  std::optional<wire::ServerView> stored_;  // what the coordinator's store has
  std::optional<wire::ServerView> running_view_;
  std::vector<bool> running_;                                      // by shard: its primary is at it
  std::set<std::pair<wire::ShardId, wire::Incarnation>> holders_;  // who has all that was told of
  std::map<wire::Incarnation, std::map<wire::Version, std::map<wire::BlockId, std::uint64_t>>> means_;  // by backup
  std::uint64_t next_life_ = 1;
  std::uint32_t servers_left_ = 0, coordinators_left_ = 0;
  history::Recorder recorder_;
  Outcome outcome_;
};

}  // namespace yoke::sim
