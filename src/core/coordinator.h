// The coordinator decides which server is the primary of a shard and which its backup. It is the only one who does, and
// what it decides is stored before anybody is told: whoever comes after it goes on from there. Running steps do not
// need it.
//
// What a view commits needs every primary and every backup that is filled. So a view is over for all as soon as one of
// them has laid it down, whatever the others believe; and whoever holds a shard then has all that was ever told of.
//
// Like all machines of this layer it has no clock and no connections: servers come, go and say what they have.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "wire/job.h"

namespace yoke::core {

struct CoordinatorOptions {
  std::uint32_t shards = 1;
  std::uint32_t backups = 0;                            // of each shard; at most 1
  Duration patience = std::chrono::milliseconds(1500);  // with members that are silent, when a view is over
  Duration gathering = std::chrono::seconds(5);         // for backups, when enough are there for the first view
};

// --- events ---

// A server is there, or there again, and says how it stands with it.
struct Attended {
  wire::Host host;
  wire::Attend said;
};
// The connection to a server is gone. `dead`: it is certain that the process is no more.
struct Departed {
  wire::Incarnation life = 0;
  bool dead = false;
  std::string why;
};
// A primary has news of its backup.
struct BackupSaid {
  wire::Incarnation from = 0;
  wire::BackupNews news;
};
// A replica that looks for the servers says which values it has in full. Held until the next view.
struct ReplicaSaid {
  std::vector<wire::Holding> has;
};
// Store is done; or somebody else has stored another view since: then this one does not rule any more.
struct Stored {
  bool ok = true;
  std::string why;
};
// Time has passed.
struct Tick {};
// The job is over, says the first server.
struct JobOver {
  wire::Incarnation from = 0;
};

using CoordinatorEvent = std::variant<Attended, Departed, BackupSaid, ReplicaSaid, Stored, Tick, JobOver>;

// --- effects ---

// Bring it to where it outlasts this process. Answer: Stored.
struct Store {
  wire::ServerView view;
};
struct TellView {
  wire::Incarnation to = 0;
  wire::ServerView view;
};
struct TellRecall {
  wire::Incarnation to = 0;
  wire::Recall recall;
};
// Is this process there at all? Departed with `dead` is the answer, if it is not.
struct Probe {
  wire::Host host;
};
// The job cannot go on, and why; everybody may go.
struct GiveUp {
  std::string why;
};
struct CoordinatorSays {
  std::string text;
};

using CoordinatorEffect = std::variant<Store, TellView, TellRecall, Probe, GiveUp, CoordinatorSays>;
using CoordinatorEffects = std::vector<CoordinatorEffect>;

class Coordinator {
 public:
  // `stored`: what the one before it has decided last.
  explicit Coordinator(CoordinatorOptions options, std::optional<wire::ServerView> stored = {});

  void on(const CoordinatorEvent& event, Time now, CoordinatorEffects& out);

  // The view that stands; none: there was none yet.
  const std::optional<wire::ServerView>& view() const { return view_; }
  // The view is over, and there is no other yet.
  bool forming() const { return round_.has_value() || !view_; }
  // Who is being waited for, in words.
  std::string waiting_for() const;

 private:
  struct Server {
    wire::Host host;
    bool there = false;                // connected
    std::optional<wire::Attend> laid;  // it is in no view, and this is what it has
    Time since{};                      // when it said so
  };

  void on_attended(const Attended& attended, Time now, CoordinatorEffects& out);
  void on_departed(const Departed& departed, Time now, CoordinatorEffects& out);
  void on_backup(const BackupSaid& said, Time now, CoordinatorEffects& out);
  void on_stored(const Stored& stored, CoordinatorEffects& out);

  bool there(wire::Incarnation life) const { return servers_.contains(life) && servers_.at(life).there; }
  bool is_primary(wire::Incarnation life) const;
  bool is_backup(wire::Incarnation life) const;
  bool heard_of_view(const Server& server) const;
  bool in_view(wire::Incarnation life) const { return is_primary(life) || is_backup(life); }
  bool idle(const Server& server) const { return server.there && server.laid && !in_view(server.host.life); }
  void take_over(const wire::ServerView& view, wire::Incarnation from, CoordinatorEffects& out);
  void end_view(const std::string& why, Time now, CoordinatorEffects& out);
  void consider(Time now, CoordinatorEffects& out);
  void begin(Time now, CoordinatorEffects& out);
  void form(Time now, CoordinatorEffects& out);
  void care_for_backups(Time now, CoordinatorEffects& out);
  void decide(wire::ServerView view, CoordinatorEffects& out);
  // By network, the versions that this server has of the shard, and their standings; of the present view.
  using Versions = std::map<wire::Version, std::optional<wire::Standing>>;
  std::map<std::uint32_t, Versions> holdings_of(const Server& server, wire::ShardId shard) const;
  // What the next view goes on from; none: no version is whole. What no server has, a replica may.
  struct Holders {
    std::vector<const Server*> servers;
    bool former = false;  // they are in no place of the shard any more: it may have gone on without them
  };
  using ByShard = std::vector<Holders>;
  struct Gathered {
    ByShard holders;
    bool answered = true;      // everybody who is in the view, and not dead
    bool anybody_has = false;  // anything of it
    bool untouched = true;     // no primary is dead
  };
  // Of the view that is over; none: somebody is silent who may be the only one to have a shard.
  std::optional<Gathered> gather();
  std::optional<std::vector<wire::ServerView::Network>> newest_whole(const ByShard& holders) const;
  std::set<wire::Version> had_by_replicas(std::uint32_t network, wire::ShardId shard) const;
  // No version after this one was told of, as those know that are left in their places; none: nobody is.
  std::optional<wire::Version> told_at_most(std::uint32_t network, const ByShard& holders) const;
  Holders former_holders(wire::ShardId shard) const;
  std::uint32_t shards_of(std::uint32_t network) const;
  // Of every network that the shard has a part of, what the next view goes on from.
  bool has(const Server& server, wire::ShardId shard, const std::vector<wire::ServerView::Network>& networks) const;
  std::optional<wire::Version> checkpoint() const;

  const CoordinatorOptions options_;
  std::optional<wire::ServerView> view_;
  std::optional<wire::ServerView> pending_;  // decided, and not stored yet
  std::map<wire::Incarnation, Server> servers_;
  std::set<wire::Incarnation> dead_;
  std::set<wire::Incarnation> lost_;  // backups that their primaries have lost
  // What replicas have of the view that is over, by network and shard.
  std::map<std::pair<std::uint32_t, wire::ShardId>, std::set<wire::Version>> replicas_;
  std::optional<Time> round_;  // the view is over since
  std::optional<Time> enough_since_;
  std::string why_;
  std::string missing_;  // who holds up the next view
  bool anew_ = false;    // the pending one has a new number
  bool over_ = false;    // the job is, says the first server
  bool abdicated_ = false;
};

}  // namespace yoke::core
