// What the processes of a job say to each other besides the protocol of training (messages.h): who they are, what is to
// be trained, how it goes. Plain values; codec.h turns them into bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "wire/messages.h"
#include "yoke/options.h"
#include "yoke/trainable.h"

namespace yoke::wire {

// What a process is on this connection.
enum class Role : std::uint8_t {
  server,       // hosts a shard
  replica,      // computes gradients
  watcher,      // only asks how it goes
  keeper,       // looks after the containers: lists, takes snapshots, saves, removes; never trains
  member,       // of a job whose replicas host the parameters: forms it anew with the others
  coordinator,  // says which server hosts what
};

// The first thing each side of a connection says; the transport carries it before anything else.
struct Identity {
  Role role = Role::watcher;
  std::uint32_t id = 0;      // the shard's or the replica's number
  bool numbered = true;      // false: a replica that takes whatever number is free
  std::uint32_t shards = 0;  // server: of how many; replica: 0
  Incarnation incarnation = 0;
  std::string version;  // of the program
  std::string host;
  std::uint64_t pid = 0;
  std::string listens;       // where others reach it; empty: nowhere
  std::string job;           // which job, or container, it is about; empty: the only one there is
  Incarnation replaces = 0;  // the former life of this very process, which is over; 0: it has had none
  std::uint64_t view = 0;    // of which view of the job it is, where the replicas host the parameters; else 0
  bool operator==(const Identity&) const = default;
};

// --- setting out ---

// The first server to a replica, or to another server, once every server is there.
struct Welcome {
  std::uint32_t replica = 0;         // the number it has from now on
  std::vector<std::string> servers;  // where each shard's server is, by shard
};

// No, and why; the connection is closed after it.
struct Refusal {
  std::string reason;
};

// How the job is run, as the replicas' options have it. All replicas must say the same.
struct JobTerms {
  Strategy strategy = Strategy::sync;
  std::uint32_t replicas = 1;
  std::uint32_t spares = 0;
  std::uint32_t shards = 1;
  std::uint32_t epochs = 1;
  std::uint64_t steps = 0;
  std::vector<BatchChange> batch_schedule;
  std::uint32_t warmup_epochs = 0;
  std::uint64_t warmup_steps = 0;
  ScheduleOptions schedule;
  StaleOptions stale;
  OptimizerState optimizer_state = OptimizerState::shared;
  double clip_norm = 0;
  std::uint32_t max_refusals = 3;
  std::uint32_t min_replicas = 1;
  bool record = false;  // keep a history
  std::uint64_t seed = 1;
  bool shuffle = true;
  bool values_follow = false;  // a shard first tells of a version, then sends what has not been sent of it
};

// Words about a model, as its file has them.
using About = std::map<std::string, std::string>;

// A replica attaches its next network: what it looks like and how it is trained.
struct Open {
  std::uint32_t network = 0;
  JobTerms terms;
  Layout layout;
  About about{};  // what a container keeps beside the values: which model, which data
};

// The server has it. The chief then brings the first values; the others wait for them.
struct Opened {
  std::uint32_t network = 0;
  bool bring_values = false;
  Version version = 0;  // updates that its values had behind them when this job began with them
};

// One block's first values, from the chief; the payload is the values. A slot that is not trained travels in pieces as
// if it were blocks of its own: then `frozen`, and `block` is its slot.
struct FirstValues {
  std::uint32_t network = 0;
  std::uint32_t block = 0;
  bool frozen = false;
  std::uint64_t offset = 0;  // frozen: in floats

  static constexpr std::size_t kPiece = 1u << 18;  // floats of a frozen slot in one message
};

// The chief has sent all of them; a replica asks for them with it as well, and the server answers with it at the end of
// its own.
struct FirstValuesDone {
  std::uint32_t network = 0;
};

// --- along the way ---

// One block of the parameters that a Parameters message tells of, before it or after it; the payload is the values.
struct BlockValues {
  std::uint32_t network = 0;
  std::uint32_t block = 0;
  Version version = 0;
};

// A message of the training protocol. A Push's payload is the gradient.
struct Post {
  std::uint32_t network = 0;
  Address from, to;
  Message message;
};

// What a replica did in one step; the first server passes it on to the chief.
struct StepNews {
  std::uint32_t replica = 0;
  double loss = 0, right = 0;  // as in StepResult
  std::uint64_t samples = 0;
  Fate fate = Fate::applied;
  std::uint64_t staleness = 0;
  Version step = 0;         // of its next assignment
  std::uint32_t epoch = 0;  // likewise
  double work_seconds = 0;  // 0: it was not done to the end
  bool whole = false;
};

// From the first server: from now on this replica is the one that evaluates and reports.
struct ChiefNow {};

// From the chief: training is over, and the result stands; from the first server: so it was told. Until then another
// may still have to become the chief.
struct Concluded {};

// End the training now: what is decided is committed.
struct StopNow {
  std::string reason;
};

// The replica takes part no more, by its own decision or because its body failed.
struct Leaving {
  std::string reason;
  bool well = false;   // by its own decision
  double silence = 0;  // so many seconds it heard nothing at all, and gave up; 0: that is not why
};

// --- how it goes ---

struct AskAccount {};

struct ReplicaAccount {
  std::uint32_t id = 0;
  bool present = false;
  std::string where;  // host and process
  std::uint64_t applied = 0, dropped = 0, refused = 0, staleness = 0;
  double mean_step_seconds = 0;
  double last_heard_seconds = 0;  // ago
  std::string gone;               // why; empty: it is not
  std::uint64_t lives = 0;        // how often it has joined
};

struct ServerAccount {
  std::uint32_t shard = 0;
  std::string where;
  std::string address;
  bool present = false;
};

struct Account {
  std::optional<Strategy> strategy;  // none: no job has begun
  Version step = 0;
  std::uint64_t steps = 0;  // asked for; 0: as the epochs say
  std::uint32_t epochs = 0, epochs_asked = 0;
  std::uint64_t samples = 0, assigned = 0;
  double steps_per_second = 0;  // of late
  double seconds = 0;           // since training began
  std::uint32_t least_counted = 0, most_counted = 0;
  std::vector<std::uint64_t> staleness;
  std::string stopped;  // why it was ended early
  bool done = false;
  std::string waiting_for;
  std::uint64_t degraded = 0;      // updates made of fewer gradients than configured, because replicas were gone
  std::string checkpoint;          // the newest that is whole; empty: there is none
  Version checkpointed = 0;        // its version
  std::string checkpoint_problem;  // why the last attempt failed; empty: it did not
  std::vector<ReplicaAccount> replicas;
  std::vector<ServerAccount> servers;
};

// --- one set of servers, many containers ---

// Between two servers, over the one connection that they have: what is said about one run of one container.
struct Enclosed {
  enum class Kind : std::uint8_t { begins, says, ends };
  std::string container;
  std::uint64_t run = 0;  // which run of it
  Kind kind = Kind::begins;
  std::string said;  // a message of its own, as bytes; begins: who begins it, as bytes of an Identity
};

// What a keeper wants done; the first server passes it on to the others.
struct Order {
  enum class Kind : std::uint8_t { list, snapshot, save, remove, stop, checkpoint, drain };
  Kind kind = Kind::list;
  std::string container;  // empty: of all of them, where that makes sense
  bool force = false;     // remove: also while clients are there
  std::uint64_t token =
      0;  // drawn by the keeper, not 0: by it and the container the servers know that it is the same order
  ReplicaId replica = 0;  // drain: which one
};

// It is done, or why not.
struct OrderDone {
  std::uint64_t token = 0;
  std::string problem;  // empty: it is done
  std::string result;   // what came of it, in words
};

struct ContainerAccount {
  std::string name;
  bool running = false;
  std::uint32_t clients = 0;
  std::uint64_t values = 0;  // of its networks
  std::uint64_t memory = 0;  // bytes, on all servers together
  Version version = 0;       // updates since it was made
  std::optional<Version> saved;
  double idle_seconds = 0;  // since a client was last there
};
struct Containers {
  std::vector<ContainerAccount> containers;
};

// One network of a container, as a server has it; its part of the values follows as FirstValues, up to FirstValuesDone.
struct Snapshot {
  std::uint32_t network = 0;
  std::uint32_t networks = 0;  // that the container has
  Version version = 0;
  Layout layout{};
  About about{};
};

// --- where the replicas host the parameters: each slice is held twice, and survivors form the job anew ---

// A piece of a slice: floats of a slot's values, or of what the optimizer remembers of it; the payload is the floats.
// From a server to whoever holds the twin of its slice, or between members, to whoever hosts it in the next view.
struct Piece {
  std::uint32_t network = 0;
  std::uint64_t of = 0;  // the version that is being made; between members: the view's number
  std::uint32_t slot = 0;
  std::uint32_t array = 0;  // 0: the values; else which of the optimizer's arrays, from 1
  std::uint64_t offset = 0;
  std::uint64_t updates = 0;  // that made the state
};

// These were all of them.
struct PiecesDone {
  std::uint32_t network = 0;
  std::uint64_t of = 0;
  std::uint32_t shards = 1;          // of the network
  std::optional<Standing> standing;  // of a version
};

// And the twin has them.
struct PiecesHeld {
  std::uint32_t network = 0;
  std::uint64_t of = 0;
};

// A slice that a member has, at one version.
struct Holding {
  std::uint64_t view = 0;  // the number of the view that it is a slice of
  std::uint32_t network = 0;
  ShardId shard = 0;
  std::uint32_t shards = 1;
  Version version = 0;
  std::optional<Standing> standing;  // none: nothing was trained yet
};

// A member wants the job formed anew: one that has lost another, or a newcomer (who has nothing).
struct Muster {
  std::uint64_t view = 0;  // the last that it was in; 0: none
  std::vector<Holding> holdings{};
  bool chief = false;  // it was the chief
  std::string why;
};

// Ask there instead: it is the first of the view that goes on, or will be of the next. Of view 0, and without an
// address: this is a newcomer, and whoever listened here before is no more.
struct Elsewhere {
  std::uint64_t view = 0;
  std::string address;
};

// Who the job consists of from now on, and what it goes on from. The first member has the first shard, and so on.
struct View {
  struct Seat {
    ReplicaId replica = 0;
    std::string listens;
  };
  struct Network {
    Version version = 0;
    std::optional<Standing> standing;
    std::vector<std::uint32_t> sources;  // by shard of the view before: which member (its place below) has that slice
    Layout layout{};
  };
  std::uint64_t number = 0;
  std::uint64_t from = 0;  // the view that it follows
  ReplicaId chief = 0;
  std::uint32_t survivors = 0;  // the first so many of the members; the others are new
  std::vector<Seat> members{};
  std::vector<Network> networks{};
};

// --- where a coordinator says which server hosts what: a shard has a primary, and perhaps a backup ---

// A process that serves, in one of its lives.
struct Host {
  Incarnation life = 0;
  std::string listens;
  bool operator==(const Host&) const = default;
};

// Who hosts what. Of a later number when a primary was lost, and everybody begins anew; of a later revision when a
// backup has come or gone.
struct ServerView {
  struct Shard {
    Host primary;
    std::optional<Host> backup;
    bool filled = false;      // the backup has what the view goes on from
    std::uint64_t since = 0;  // the revision that has brought it in
    bool brought = false;     // nobody has it in memory but replicas: one of them brings the values
    // It was taken in for what it has of the shard: else it begins from nothing.
    bool goes_on_with(Incarnation life) const {
      return (primary.life == life && !brought) || (backup && backup->life == life && filled && since == 0);
    }
    bool operator==(const Shard&) const = default;
  };
  struct Network {
    Version version = 0;
    std::optional<Standing> standing;
    bool operator==(const Network&) const = default;
  };
  std::uint64_t number = 0, revision = 0;
  std::uint64_t from = 0;  // the number of the view that it follows
  // From the newest checkpoint, this one or one sealed since: a shard was lost with all who held it.
  std::optional<Version> restore;
  std::vector<Shard> shards{};
  std::vector<Network> networks{};  // what it goes on from; none: from the beginning, or the checkpoint
  bool over = false;                // the job is
  bool operator==(const ServerView&) const = default;
};

// A server to the coordinator, whenever it has reached it.
struct Attend {
  std::optional<ServerView> serves{};  // it is at it in this view; none: it is not, and:
  std::uint64_t laid_down = 0;         // the view that it was in last, and its revision
  std::uint64_t laid_revision = 0;
  std::vector<Holding> holdings{};      // what it has of it
  std::optional<Version> checkpoint{};  // the newest that it could go on from
  std::string why;
  std::uint32_t networks = 0;  // of the job, also those that it had no part of
};

// A primary to the coordinator: its backup is lost, or it is filled.
struct BackupNews {
  std::uint64_t view = 0;
  ShardId shard = 0;
  Incarnation backup = 0;
  std::uint64_t since = 0;  // as the view has it
  std::string lost;         // why; empty: it is filled
};

// The coordinator to a server: that view is over, and those before; lay it down and attend.
struct Recall {
  std::uint64_t view = 0;
  std::string why;
};

// A replica to the coordinator: where is the first server? It answers with Elsewhere.
struct AskServers {
  std::vector<Holding> has{};  // values that this replica has in full, as they were told; without standings
};

// A server to every replica: whoever has the values of its shard of this version brings them.
struct Wanted {
  std::uint32_t network = 0;
  Version version = 0;
  std::uint64_t view = 0;  // of which it is, as the coordinator counts
};

// A primary to its backup: the mean gradient of a block, from which it makes the version; the payload is the mean.
// None: the block is carried over. After the last of them comes PiecesDone.
struct Mean {
  std::uint32_t network = 0;
  Version version = 0;
  BlockId block = 0;
  double rate = 1;
  ReplicaId whose = 0;  // whose optimizer state, where each replica has its own
};

// And: it has all that was told of; from now on it could take over.
struct Filled {
  std::uint32_t network = 0;
};

using JobMessage = std::variant<Welcome, Refusal, Open, Opened, FirstValues, FirstValuesDone, BlockValues, Post,
                                StepNews, ChiefNow, Concluded, StopNow, Leaving, AskAccount, Account, Enclosed, Order,
                                OrderDone, Containers, Snapshot, Piece, PiecesDone, PiecesHeld, Muster, Elsewhere, View,
                                ServerView, Attend, BackupNews, Recall, AskServers, Mean, Filled, Wanted>;

// The network that it is about; none: it is about none in particular.
inline std::optional<std::uint32_t> network_of(const JobMessage& message) {
  return std::visit(
      [](const auto& m) -> std::optional<std::uint32_t> {
        if constexpr (requires { m.network; })
          return m.network;
        else
          return {};
      },
      message);
}

}  // namespace yoke::wire
