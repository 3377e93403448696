// A process that serves: where it listens, and the jobs that it hosts. Either one job without a name, with which it
// ends; or containers, which come with their first client and stay when the clients have gone.
//
// Several houses make one set of servers. That of shard 0 is the first: there jobs begin and end. Each of the others
// has one link to it, over which they hear of every job, in the order in which things happen; replicas come to each by
// themselves. house.cc has who comes to the door, house_links.cc what the houses say to each other, house_orders.cc
// what keepers want, house_state.cc what is on the disk, house_view.cc how a job that is formed anew begins again.
//
// Lives on a loop, whose thread owns all of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>

#include "cluster/channel.h"
#include "cluster/container.h"
#include "cluster/pinned_values.h"
#include "transport/endpoint.h"

namespace yoke::cluster {

// Of a house with containers.
struct Lodging {
  std::size_t most = 1000;             // containers
  std::uint64_t container_memory = 0;  // bytes that one may take on this server; 0: no limit
  std::uint64_t memory = 0;            // and all together
  std::string state;                   // folder where containers outlive the process; empty: they do not
  Duration save_every{};               // how often they are saved there besides the end; 0: only when told
  std::string secrets;  // folder with a secret a container, in files of their names; empty: they have none
};

struct HouseOptions {
  wire::ShardId shard = 0;
  std::uint32_t shards = 1;
  std::string listen;
  std::string join;                              // where the first house listens; not for the first itself
  std::optional<Lodging> containers;             // none: one job without a name
  unsigned workers = 0;                          // 0: the loop's thread does all
  Duration deadline = std::chrono::seconds(60);  // for the first house to answer
  std::function<void(const std::string&)> say;   // news in words
  // It is told to end and has done so, or its only job is over; or it cannot go on, and why.
  std::function<void(const Status&)> ended;
  std::shared_ptr<history::Recorder> recorder;  // of a job without a name
  Checkpoints checkpoints;                      // likewise
  // Where the replicas host the parameters, and form the job anew when one is lost:
  std::uint64_t view = 0;                        // the number of the view; 0: they do not
  bool newcomer = false;                         // it has no part in it until it is given one
  std::optional<wire::ReplicaId> twin;           // who holds the twin of this shard
  transport::Handler* members = nullptr;         // whom other members come to
  std::function<void(const std::string&)> lost;  // somebody is lost, and who
  // Where a coordinator says which server hosts what:
  bool coordinated = false;
  std::string advertise;                                           // where others reach it; empty: where it listens
  std::function<void(std::string, transport::Bytes)> to_backup{};  // of its shard
  std::function<void()> backup_filled{};
  security::Credentials credentials;
};

// The part that a house has in a view of the job.
struct HousePart {
  std::uint64_t view = 0;
  wire::ShardId shard = 0;
  std::uint32_t shards = 1;
  std::string join;
  std::optional<wire::ReplicaId> twin;
  std::shared_ptr<const Inheritance> inherits;
  std::map<wire::ReplicaId, std::string> absent;
  std::optional<wire::ReplicaId> chief;
  bool backup = false, filled = false;   // the shard has a backup, and that has what this begins with
  bool from_disk = false;                // it begins with the newest checkpoint, or from the beginning
  bool restore = false;                  // from the checkpoint that the job itself has made
  std::optional<std::uint64_t> brought;  // a replica brings the values of what it inherits, of this view
};

class House : public transport::Handler {
 public:
  // Listens and, unless it is the first, connects to the first. Call before the loop runs, or in its thread; `loop`
  // outlives it.
  static Result<std::unique_ptr<House>> open(transport::Loop& loop, HouseOptions options);
  ~House() override;

  // Where it listens, with the port that was free.
  std::string address() const { return to_string(listener_->address()); }
  // A connection inside this process comes with these.
  const transport::Settings& settings() const { return settings_; }
  // Ends all jobs in good order, and then itself: `ended` follows.
  void stop(const std::string& reason);
  // --- the job is formed anew; it has no name, and nobody is told that it ends ---
  // Ends it here at once, and closes every connection but those of members. What there was of it stays as it is.
  Networks dissolve();
  // The same for good: nobody comes in any more.
  void shut();
  // Its part in the next view. From now on other houses of that view may come.
  void take_part(HousePart part);
  // Begins it. `link`: a descriptor, dialled to the first house, unless it is that.
  Status begin_view(std::optional<int> link);
  // Where others reach this house who have come from, or are connected by, `fd`.
  std::string reached_at(int fd) const;

  // The shard of the job without a name has a backup from now on, which has nothing; or none. And: it has this version.
  void backup_changed(bool there);
  void backup_has(std::uint32_t network, wire::Version version);
  // No replica has brought yet what its part goes on from.
  bool awaits_values() const;
  // Grows while something is read or comes.
  std::uint64_t progress() const;
  // The newest checkpoint that the job could go on from; none: there is none.
  std::optional<wire::Version> checkpoint_there() const;
  // Takes a checkpoint of the job without a name, and says which, or why not.
  void checkpoint(const std::string& why);

  // transport::Handler
  void on_up(transport::Connection& connection, const std::string& introduction) override;
  Result<transport::Sink> on_announced(transport::Connection& connection, const transport::Incoming& message) override;
  void on_message(transport::Connection& connection, transport::Incoming message, transport::Bytes payload) override;
  void on_down(transport::Connection& connection, const transport::Failure& failure) override;

 private:
  struct Link {
    transport::ConnectionPtr connection;
    wire::Identity identity;
    std::string introduction;
    bool leaving = false;  // it is being stopped, and saves what it has
  };
  // What a connection is to this house.
  struct Guest {
    enum class Kind { client, channel, link, keeper, member } kind = Kind::client;
    Server* server = nullptr;  // of clients and channels; null: it is gone, and nobody hears them any more
    wire::Identity identity;
  };

  House(transport::Loop& loop, HouseOptions options);
  bool first() const { return options_.shard == 0; }
  bool lodges() const { return options_.containers.has_value(); }
  void say(const std::string& text) const {
    if (options_.say) options_.say(text);
  }

  // --- at the door ---
  Status receive(transport::Connection& connection, const wire::Identity& identity, const std::string& introduction);
  Result<Container*> container_for(const wire::Identity& identity);
  void let_in(Container& container, transport::Connection& connection, const wire::Identity& identity,
              const std::string& introduction);
  static void turn_away(transport::Connection& connection, const std::string& reason);

  Status receive_member(transport::Connection& connection, const wire::Identity& identity,
                        const std::string& introduction);
  Status admit_keeper(transport::Connection& connection, const wire::Identity& identity);

  // --- jobs ---
  void begin(const std::string& name, Container& container, std::uint64_t run);
  void over(const std::string& name, std::uint64_t run, const Status& status);
  Status afford(const std::string& name, const wire::Open& open) const;
  void stop_jobs(const std::string& reason);
  void consider_the_end();

  // --- the other houses ---
  bool all_there() const { return links_.size() + 1 == options_.shards; }
  Status dial();
  void dial_again(Duration pause);
  void adopt_link(int fd);
  Status link_up(transport::Connection& connection, const wire::Identity& identity, const std::string& introduction);
  void link_down(transport::Connection& connection, const transport::Failure& failure);
  void on_link_message(const Guest& guest, wire::JobMessage message);
  void on_enclosed(wire::ShardId from, wire::Enclosed& enclosed);
  void on_begins(wire::ShardId from, const wire::Enclosed& enclosed);
  std::shared_ptr<Channel> open_channel(Container& container, const std::string& name, wire::ShardId to);
  void announce(const std::string& name, const Container& container, const Link& link) const;

  // --- keepers ---
  using Capture = std::vector<PinnedValues>;  // of a container
  struct Pending {                            // an order that is not done yet
    transport::ConnectionPtr keeper;
    std::set<wire::ShardId> waiting;  // for these servers
    std::string problem;
    std::string removes;     // the container that is to go; empty: it is another order
    std::size_t without{0};  // servers that did not have it
  };
  void on_order(transport::Connection& connection, const wire::Identity& keeper, const wire::Order& order);
  void on_order_to_job(transport::Connection& connection, const wire::Order& order);
  void on_passed_on(wire::ShardId from, const wire::Order& order);
  void save_everywhere(const std::string& name, std::uint64_t token);
  void remove_everywhere(const std::string& name, const wire::Order& order);
  void remove(const std::string& name, std::function<void()> then);
  void done(std::uint64_t token, wire::ShardId by, const std::string& problem);
  Capture capture(const std::string& name) const;
  using Wanted = std::pair<std::string, std::uint64_t>;  // a container, by an order's token
  void hand_over(const Wanted& wanted);
  static void send(transport::Connection& keeper, std::uint64_t token, const Capture& capture);
  wire::Containers list(const std::string& only) const;

  // --- the disk ---
  std::string file_of(const std::string& name) const;
  Status load();
  void save(const std::string& name, std::function<void(const Status&)> then);
  void save_now_and_then();
  void erase(const std::string& name);

  transport::Loop& loop_;
  HouseOptions options_;
  transport::Settings settings_;
  std::atomic<std::uint64_t> clock_{0};
  wire::Identity identity_;
  std::unique_ptr<transport::Listener> listener_;
  std::unordered_map<const transport::Connection*, Guest> guests_;
  std::map<wire::ShardId, Link> links_;              // on the first: to the others; elsewhere: to the first
  std::map<wire::ShardId, wire::Incarnation> lost_;  // who had gone without a word
  std::map<std::pair<std::string, wire::ShardId>, std::shared_ptr<Channel>> channels_;
  std::map<std::string, Container> containers_;  // by name; the job without a name has none
  std::uint64_t runs_;                           // the number of the last; later ones are larger, also in a later life
  const transport::Connection* dialled_ = nullptr;
  std::map<std::uint64_t, Pending> orders_;           // by token
  std::map<Wanted, Capture> captures_;                // for keepers that have not asked here yet
  std::map<Wanted, transport::ConnectionPtr> asked_;  // who waits for the first house's word
  std::set<std::string> damaged_;                     // containers whose files could not be read
  std::size_t saving_ = 0;                            // that workers write
  std::optional<Status> ending_;                      // it is, and how
  bool skipped_ = false;                              // something was not to be saved, and it was said
  bool saved_all_ = false;                            // at the end
  bool ended_ = false;
  bool forming_ = false;  // nobody but members is heard
  bool formed_ = false;   // the job was formed anew
  std::shared_ptr<const Inheritance> inherits_;
  std::map<wire::ReplicaId, std::string> absent_;
  std::optional<wire::ReplicaId> chief_;
  bool backup_ = false, filled_ = false;
  bool from_disk_ = false, restore_ = false;
  std::optional<std::uint64_t> brought_;
  std::map<std::uint32_t, std::pair<wire::Version, Tally>> tallies_;
  transport::Loop::Timer patience_ = 0, save_timer_ = 0;
  std::jthread dialler_;
  std::unique_ptr<Checkpointer> checkpointer_;  // of the job without a name
  Workers writer_;                              // of files: so that nobody waits for a disk
  Workers workers_;                             // last, these two: they wait for what uses the rest
};

}  // namespace yoke::cluster
