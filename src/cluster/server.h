// A server: hosts one shard of every network of a job; the first one (shard 0) also the sequencer, the list of who is
// where, and the account of how it goes. It knows nothing of the job beforehand: the replicas bring its terms.
//
// Lives on a loop, whose thread owns all of it; workers run the passes.
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

#include "cluster/hosted_network.h"
#include "transport/endpoint.h"

namespace yoke::cluster {

struct ServerOptions {
  wire::ShardId shard = 0;
  std::uint32_t shards = 1;
  std::string listen;
  std::string join;                              // where the first server listens; not for the first itself
  unsigned workers = 0;                          // 0: the loop's thread does all
  Duration deadline = std::chrono::seconds(60);  // for the first server to answer
  std::function<void(const std::string&)> say;   // news in words
  // The job is over and everybody has left; or it cannot go on, and why.
  std::function<void(const Status&)> ended;
  std::shared_ptr<history::Recorder> recorder;
  security::Credentials credentials;
};

class Server : public transport::Handler, public Outlet {
 public:
  // Listens and, unless it is the first, connects to the first. Call before the loop runs, or in its thread; `loop`
  // outlives it.
  static Result<std::unique_ptr<Server>> start(transport::Loop& loop, ServerOptions options,
                                               std::shared_ptr<transport::Arena> arena);
  ~Server() override;

  // Where it listens, with the port that was free.
  std::string address() const;
  // A connection inside this process comes with these.
  const transport::Settings& settings() const { return settings_; }
  // Ends it in good order: tells everybody, and `ended` follows.
  void stop(const std::string& reason);

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
  void post(std::function<void()> call) override { loop_.post(std::move(call)); }
  Time now() const override;
  void say(const std::string& text) override;

 private:
  struct Peer {  // whoever has introduced himself
    wire::Identity identity;
    transport::ConnectionPtr connection;
    std::optional<wire::JobMessage> announced;  // the message whose payload is on its way
    bool first_server = false;                  // the way to the sequencer
    bool left = false;                          // it said so, or was refused
    bool well = false;                          // by its own decision
    std::set<std::uint32_t> opened, asked;      // networks: opened, and asked for their first values
  };
  struct Seat {  // a replica, on the first server
    bool welcomed = false;
    std::string where;
    wire::Incarnation incarnation = 0;
    bool left = false, well = false;
    std::string gone;  // why it left before training was over; empty: it did not
    double work = 0, cut = 0;
    std::uint64_t works = 0, cuts = 0;
  };

  Server(transport::Loop& loop, ServerOptions options, std::shared_ptr<transport::Arena> arena);
  bool first() const { return options_.shard == 0; }

  // who comes and goes
  Status admit(Peer& peer);
  Status admit_server(Peer& peer);
  Status admit_replica(Peer& peer);
  void welcome_all();
  void welcome(Peer& peer);
  void gone(Peer& peer, const std::string& reason);
  void elect();
  void refuse(Peer& peer, const std::string& reason);
  void refuse_all(const std::string& reason);
  bool over() const;
  void consider_the_end();
  bool nothing_for(double seconds) const;
  void give_up(const std::string& reason);
  void end(Status status);
  void ended();

  // what they say
  void handle(Peer& peer, wire::JobMessage message, transport::Bytes payload);
  std::shared_ptr<HostedNetwork> host(wire::Open& open);
  Status on(Peer& peer, wire::Open& open);
  Status on(Peer& peer, const wire::FirstValues& values, const transport::Bytes& payload);
  Status on(Peer& peer, const wire::FirstValuesDone& done);
  Status on(Peer& peer, wire::Post& post, transport::Bytes payload);
  Status on(Peer& peer, const wire::StepNews& news);
  void send_first_values(Peer& peer, std::uint32_t network);
  wire::Account account() const;
  void tell_of(wire::ReplicaId id, const Seat& seat, wire::ReplicaAccount& to) const;
  void tick();

  Peer* replica(wire::ReplicaId id) const;
  Peer* server(wire::ShardId shard) const;

  transport::Loop& loop_;
  ServerOptions options_;
  std::shared_ptr<transport::Arena> arena_;
  transport::Settings settings_;
  std::atomic<std::uint64_t> progress_{0};
  std::atomic<std::uint64_t> clock_{0};
  std::unique_ptr<transport::Listener> listener_;
  std::set<std::shared_ptr<Peer>> peers_;
  std::map<wire::ReplicaId, Peer*> replicas_;
  std::map<wire::ShardId, Peer*> servers_;  // on the first: the others; elsewhere: the first
  std::map<wire::ReplicaId, Seat> seats_;
  std::map<std::uint32_t, std::shared_ptr<HostedNetwork>> networks_;
  std::map<std::uint32_t, std::vector<std::weak_ptr<Peer>>> waiting_;  // for the first values, by network
  std::optional<wire::ReplicaId> chief_;
  std::optional<Status> ending_;  // it is, and how
  bool ended_ = false;            // and everybody has been told
  bool refusing_all_ = false;     // the job ends, and why is told then: once
  std::uint64_t seen_progress_ = 0;
  Time progressed_{};                               // when that last changed
  std::optional<Time> concluded_;                   // since when the result stands
  const transport::Connection* dialled_ = nullptr;  // to the first server
  transport::Loop::Timer timer_ = 0, abandoned_ = 0, farewell_ = 0;
  Workers workers_;  // last: it waits for passes that use the rest

  struct Mark {  // where training stood, to say how fast it goes
    Time at{};
    wire::Version step = 0;
  };
  std::deque<Mark> marks_;
  std::optional<Time> began_, over_;  // training
};

}  // namespace yoke::cluster
