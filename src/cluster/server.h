// One job on one server: hosts a shard of every network of it; on the first server (shard 0) also the sequencer, the
// list of who is where, and the account of how it goes. It knows nothing of the job beforehand: the replicas bring its
// terms. Connections are given to it by the house, which has the address and may have other jobs besides.
//
// Lives on a loop, whose thread owns all of it; the house's workers run the passes.
//
// server_roster.cc has who comes and goes, server.cc what they say, server_account.cc how it goes,
// server_checkpoints.cc what goes to the disk.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/checkpointer.h"
#include "cluster/hosted_network.h"
#include "transport/loop.h"

namespace yoke::cluster {

struct ServerOptions {
  wire::ShardId shard = 0;
  std::uint32_t shards = 1;
  std::string container;  // whose run it is; empty: a job without a name, after which nothing is left
  std::string address;    // where the house listens
  std::function<void(const std::string&)> say;  // news in words
  // The job is over, everybody has left and no pass runs; or it cannot go on, and why.
  std::function<void(const Status&)> ended;
  // Is there room for this network? Asked before any memory is taken.
  std::function<Status(const wire::Open&)> afford;
  Duration deadline = std::chrono::seconds(60);  // for others to come, when all replicas are gone
  std::shared_ptr<history::Recorder> recorder;
  // Where the replicas host the parameters, and form the job anew when one is lost:
  std::uint64_t view = 0;                         // its number
  std::optional<wire::ReplicaId> twin;            // who holds the twin of this shard; none: nobody does
  std::function<void(const std::string&)> lost;   // somebody is lost, and who; none: the job ends then
  bool formed = false;                            // it was formed anew
  std::shared_ptr<const Inheritance> inherits;    // what it goes on from; null: from the beginning
  std::map<wire::ReplicaId, std::string> absent;  // who is not in the job now, and why
  std::optional<wire::ReplicaId> chief;           // who was it before
  // Where a coordinator says which server hosts what:
  bool coordinated = false;
  bool backup = false, filled = false;   // the shard has a backup; and that has all that this begins with
  std::optional<std::uint64_t> brought;  // a replica brings the values of what it inherits, of this view
  std::function<void(std::string, transport::Bytes)> to_backup;
  std::function<void()> backup_filled;  // it has all that there is
  // By network: what was counted before, and up to which version.
  std::map<std::uint32_t, std::pair<wire::Version, Tally>> tallies;
};

// What the jobs of a house have from it. All of it outlives them.
struct Premises {
  transport::Loop& loop;
  Workers& workers;
  std::shared_ptr<transport::Arena> arena;               // of this container
  std::shared_ptr<std::atomic<std::uint64_t>> progress;  // likewise
  const std::atomic<std::uint64_t>& clock;
  Networks& kept;                        // what the last job in this container has left
  Checkpointer* checkpointer = nullptr;  // none: nothing is written, and nothing is gone on from
};

class Server : public transport::Handler, public Outlet {
 public:
  // In the loop's thread, or before the loop runs; so is everything else here.
  Server(ServerOptions options, Premises premises);
  ~Server() override;

  // Ends it at once: nobody is told, and `ended` does not follow.
  void abandon(const std::string& why);
  // Ends it in good order: tells everybody, and `ended` follows.
  void stop(const std::string& reason);
  bool ending() const { return ending_.has_value(); }
  const Networks& networks() const { return networks_; }
  // One out of turn; `then` is told which it is, or why there is none.
  using Answer = std::function<void(const Result<std::string>&)>;
  void checkpoint(Answer then);
  // Takes a replica out in good order; `then` is told when it has gone.
  void drain(wire::ReplicaId replica, const std::string& reason, Answer then);
  // The shard has a backup from now on, which has nothing; or none. And: the backup has this version.
  void backup_changed(bool there);
  void backup_has(std::uint32_t network, wire::Version version);
  // No replica has brought yet what it goes on from.
  bool awaits_values() const;
  // Replicas that are there now.
  std::uint32_t clients() const { return static_cast<std::uint32_t>(replicas_.size()); }

  // transport::Handler
  void on_up(transport::Connection& connection, const std::string& introduction) override;
  Result<transport::Sink> on_announced(transport::Connection& connection, const transport::Incoming& message) override;
  void on_message(transport::Connection& connection, transport::Incoming message, transport::Bytes payload) override;
  void on_down(transport::Connection& connection, const transport::Failure& failure) override;

  // Outlet
  void send(std::uint32_t network, const wire::Address& from, const wire::Address& to,
            const wire::Message& message) override;
  void send_values(std::uint32_t network, wire::ReplicaId replica, wire::BlockId block,
                   ShardStore::Values values) override;
  Post poster() const override { return premises_.loop.poster(); }
  void passes_done() override;
  void save_part(HostedNetwork& network, const core::Capture& capture, checkpoint::Part part) override;
  void seal(HostedNetwork& network, const core::Seal& seal) override;
  void discard(HostedNetwork& network, const core::Discard& discard) override;
  void announce(HostedNetwork& network, const core::Announce& announce) override;
  void loaded(HostedNetwork& network, const Status& status) override;
  void wants_values(HostedNetwork& network, wire::Version version, std::optional<wire::Version> remembered) override;
  void mirror(HostedNetwork& network, wire::Version version, Slice slice) override;
  void fill(HostedNetwork& network, wire::Version version, Slice slice) override;
  void send_mean(const wire::Mean& mean, transport::Bytes values) override;
  void means_done(HostedNetwork& network, wire::Version version, std::optional<core::Standing> standing) override;
  void tell_filled(HostedNetwork& network) override;
  Time now() const override;
  void say(const std::string& text) override;

 private:
  static constexpr auto kTick = std::chrono::seconds(1);

  struct Peer {  // whoever has introduced himself
    wire::Identity identity;
    transport::ConnectionPtr connection;
    std::optional<wire::JobMessage> announced;  // the message whose payload is on its way
    bool first_server = false;                  // the way to the sequencer
    bool left = false;                          // it said so, or was refused
    bool well = false;                          // by its own decision
    std::set<std::uint32_t> opened, asked;      // networks: opened, and asked for their first values
    std::map<std::uint32_t, bool> bringing;     // networks whose values it was asked for; some of them were not taken
  };
  struct Seat {  // a replica, on the first server
    bool welcomed = false;
    std::string where;
    wire::Incarnation incarnation = 0;
    bool left = false, well = false;
    std::string gone;  // why it left before training was over; empty: it did not
    std::uint64_t lives = 0;
    double work = 0, cut = 0;
    std::uint64_t works = 0, cuts = 0;
  };

  bool first() const { return options_.shard == 0; }

  // who comes and goes
  Status admit(Peer& peer);
  Status admit_server(Peer& peer);
  Status admit_replica(Peer& peer);
  std::string when_full() const;
  wire::ReplicaId free_seat() const;
  Status make_room(const wire::Identity& newcomer);
  void welcome_all();
  void welcome(Peer& peer);
  void gone(Peer& peer, const std::string& reason);
  void elect();
  static Error no_chief(const std::string& why);
  bool form_anew(const Peer& peer, const std::string& reason);
  void send_to_twin();
  void to_backup(const wire::JobMessage& message, transport::Bytes payload = {});
  void expect_no_more(Duration waited);
  void tell_drained(const Peer& peer);
  void refuse(Peer& peer, const std::string& reason);
  void refuse_all(const std::string& reason);
  bool over() const;
  void consider_the_end();
  bool nothing_for(double seconds) const;
  void give_up(const std::string& reason);
  void end(Status status);
  void farewell();

  // what they say
  void handle(Peer& peer, wire::JobMessage message, transport::Bytes payload);
  std::shared_ptr<HostedNetwork> host(wire::Open& open, const std::optional<core::Standing>& standing);
  Status take_in(wire::Open& open);
  void load(const std::shared_ptr<HostedNetwork>& network);
  void await_values(const std::shared_ptr<HostedNetwork>& network);
  void ask_for_values(Peer& peer, HostedNetwork& network);
  bool brings(Peer& peer, HostedNetwork& network);
  void bringer_gone(const Peer& peer);
  Status opened(Peer& peer, HostedNetwork& network);
  Status on(Peer& peer, wire::Open& open);
  Status on(Peer& peer, const wire::FirstValues& values, const transport::Bytes& payload);
  Status on(Peer& peer, const wire::FirstValuesDone& done);
  Status on(Peer& peer, const wire::Wanted& wanted);  // it has brought them
  Status on(Peer& peer, wire::Post& post, transport::Bytes payload);
  Status on(Peer& peer, const wire::StepNews& news);
  void send_first_values(Peer& peer, std::uint32_t network);
  wire::Account account() const;
  void tell_of(wire::ReplicaId id, const Seat& seat, wire::ReplicaAccount& to) const;
  void tick();

  // checkpoints
  void take_checkpoint(const core::TakeCheckpoint& request);
  void consider_a_checkpoint();
  bool checkpointing() const;
  bool has_to_wait_for_checkpoint();
  void await_checkpoint();

  Peer* replica(wire::ReplicaId id) const;
  Peer* chief() const;  // null: it is gone, and nobody else was there
  Peer* server(wire::ShardId shard) const;

  ServerOptions options_;
  Premises premises_;
  std::set<std::shared_ptr<Peer>> peers_;
  std::map<wire::ReplicaId, Peer*> replicas_;
  std::map<wire::ShardId, Peer*> servers_;  // on the first: the others; elsewhere: the first
  std::map<wire::ReplicaId, Seat> seats_;
  Networks networks_;
  std::map<std::uint32_t, std::vector<std::weak_ptr<Peer>>> waiting_;  // for the first values, by network
  std::map<std::uint32_t, std::vector<std::weak_ptr<Peer>>> opening_;  // networks that are being loaded
  std::map<std::uint32_t, std::weak_ptr<Peer>> bringers_;              // whose values are taken, by network
  std::optional<wire::Life> chief_;
  std::optional<Status> ending_;  // it is, and how
  bool all_told_ = false;         // everybody has gone, or had the time for it
  bool ended_ = false;            // and so has been told
  bool refusing_all_ = false;     // the job ends, and why is told then: once
  std::uint64_t seen_progress_ = 0;
  Time progressed_;                // when that last changed
  std::optional<Time> concluded_;  // since when the result stands
  transport::Loop::Timer timer_ = 0, abandoned_ = 0, farewell_ = 0, awaited_ = 0;

  struct ForTwin {
    wire::PiecesDone what;
    Slice slice;
  };
  std::set<std::uint32_t> filled_;  // networks of which the backup has all
  std::deque<ForTwin> for_twin_;    // that is not sent yet: it is on its way here

  struct Mark {  // where training stood, to say how fast it goes
    Time at{};
    wire::Version step = 0;
  };
  std::deque<Mark> marks_;
  std::optional<Time> began_, over_;                // training
  std::vector<Answer> asked_;                       // who waits for a checkpoint
  std::multimap<wire::ReplicaId, Answer> drained_;  // who waits for a replica to be gone
  std::optional<Status> end_after_checkpoint_;
  transport::Loop::Timer checkpoint_wait_ = 0;
  std::optional<Time> checkpoint_wait_until_;
  bool waited_ = false;         // for the last checkpoint
  bool last_taken_ = false;     // training is over, and it was asked for
  bool nobody_trains_ = false;  // the job is about to end
};

}  // namespace yoke::cluster
