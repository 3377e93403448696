// A network whose parameters live on servers in other processes, as the one replica of this process sees it.
//
// The replica's thread computes, waits and copies; the loop's thread hears. What the two share stands behind the links'
// lock. From the moment its gradient is handed in the replica computes on nothing, and values are put in their places
// as they come, also those that are not decided yet: over a socket they are read straight into them, from shared memory
// the replica's own thread copies them while it waits for the rest. Whether they count is known when the shard has told
// of their version; where it tells of another, all of it is sent again. What has not come by then follows in the order
// of the forward pass, which begins meanwhile: over a socket it is read into its places while the replica computes on
// others.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "cluster/member_links.h"
#include "cluster/slice.h"
#include "core/replica_side.h"

namespace yoke::cluster {

class RemoteCluster : public Cluster {
 public:
  // `links` outlive it.
  RemoteCluster(Links& links, std::uint32_t network, Layout layout, core::BlockPlan plan);
  ~RemoteCluster() override;

  const core::BlockPlan& plan() const override { return plan_; }
  const Layout& layout() const override { return layout_; }
  Status attach(wire::ReplicaId replica, Places places) override;
  void join(wire::ReplicaId replica, std::uint64_t samples, std::uint32_t batch) override;
  Result<Work> next(wire::ReplicaId replica) override;
  Status await(wire::ReplicaId replica, SlotId slot) override;
  void push(wire::ReplicaId replica, SlotId slot, Payload gradient) override;
  std::shared_ptr<std::byte> memory(std::size_t bytes) override;
  bool abandoned(wire::ReplicaId) const override {
    return abandoned_.load(std::memory_order_relaxed) || links_.over.load(std::memory_order_relaxed);
  }
  Result<wire::Verdict> settle(wire::ReplicaId replica) override;
  void leave(wire::ReplicaId replica, const std::string& reason) override;
  void stop(const std::string& reason) override;
  void stir() override;
  void redirect(wire::ReplicaId replica, Places places) override;
  void tell(const wire::StepNews& news) override;
  void on_news(std::function<void(const wire::StepNews&)> call) override;
  bool chief(wire::ReplicaId replica) const override;
  bool drained(wire::ReplicaId replica) const override;
  Result<bool> await_conclusion(wire::ReplicaId replica) override;
  bool conclude(wire::ReplicaId replica) override;
  Time now() const override { return links_.now(); }
  bool done() const override;
  wire::Version committed() const override;
  Result<wire::Account> account() override;

  // --- the member's, in the loop's thread, under the links' lock ---
  Result<transport::Sink> announced(const wire::JobMessage& message, std::size_t bytes, bool by_pointer);
  // False: nobody waits for this alone.
  bool received(wire::ShardId server, wire::JobMessage message, transport::Bytes payload);
  bool over() const { return side_ && side_->done(); }
  bool joined() const { return joined_; }
  // The message with which it was opened, and is opened again. From the replica's thread, under the lock.
  std::string opening(const wire::JobTerms& terms) const;
  // The connections are new: the servers have to take it in again (`opened`), and then it begins a new life. `shards`:
  // there may be more or fewer of them.
  void forget();
  void cut_for(std::uint32_t shards);
  // What is not trained, as it is here.
  std::vector<SlicePiece> frozen() const;
  void begin_again();
  // The values that it has in full, as the servers told them.
  std::vector<wire::Holding> has() const;
  // A server has lost them and asks for them; those that this replica has it is brought.
  bool wanted() const { return !wanted_.empty(); }
  Status bring_wanted(Links::Lock& lock);
  // The servers have taken the network in.
  bool opened() const { return opened_ == links_.servers.size(); }
  // What they have of it is of one version, also where a container kept it.
  Status check_versions() const;

 private:
  struct Arrived {  // a block's values, not yet in their place
    transport::Bytes bytes;
    wire::Version version = 0;  // the update that made it
    bool in_place = false;
  };
  std::span<float> place(wire::BlockId block) const;
  void carry_out(const core::Effects& effects);
  std::vector<Links::Outgoing> messages_of(const core::Effects& effects);
  void deliver(core::Event event);
  Status fetch(Links::Lock& lock, wire::Version version, const char* doing);
  Result<Work> next_work(Links::Lock& lock);
  Result<wire::Verdict> verdict(Links::Lock& lock);
  void install(Links::Lock& lock, std::optional<wire::Version> mean_of);
  void take_told(const wire::Parameters& told);
  bool take_due(wire::BlockId block, Arrived values);
  bool due(SlotId slot) const;
  bool all_here() const;
  bool free(wire::ShardId shard) const;
  void write_ahead(wire::BlockId block);
  bool install_ahead(Links::Lock& lock);
  void ask_again();
  void copy_to_place(wire::BlockId block, std::span<const std::byte> values) const;
  void hear();
  void record(history::What what) const;
  Status take_first_values(Links::Lock& lock);
  Status bring_values(Links::Lock& lock);
  Status send_values(Links::Lock& lock, const std::set<wire::ShardId>& servers);
  Payload readable(Payload gradient) const;

  Links& links_;
  const std::uint32_t network_;
  const Layout layout_;
  core::BlockPlan plan_;
  bool large_ = false;
  std::size_t opened_ = 0;
  std::map<wire::ShardId, wire::Opened> kept_;  // by shard: what the servers have had
  std::atomic<bool> shares_{false};             // some server reads from this process's memory; known once it is opened
  bool bring_ = false;
  std::size_t first_values_ = 0;  // servers that are through with the first values
  Places places_;
  bool redirected_ = false;
  bool attaching_ = false;  // first values may be written to their places
  const bool eager_;        // values are put in their places before it is known that they count
  bool inside_ = false;     // the replica computes on nothing: parameters may be written to their places
  bool joined_ = false;     // it has said hello, in this life or in a former one
  bool lost_work_ = false;  // what it worked on went with its former life

  std::optional<core::ReplicaSide> side_;
  wire::Sequence taken_ = 0;   // the last work given to the caller
  wire::GradientId present_;   // and the gradient that is the answer to it
  std::uint64_t data_ = 0;     // samples there are
  std::uint32_t samples_ = 0;  // in the present work
  std::uint32_t batch_ = 1;
  std::size_t unheard_ = 0;  // bytes handed in quietly
  std::atomic<bool> abandoned_{false};
  std::optional<wire::Version> fetching_;      // what the replica waits for, besides its next work
  std::map<wire::BlockId, Arrived> arriving_;  // of answers that are not whole yet
  std::map<wire::BlockId, Arrived> arrived_;
  std::deque<wire::BlockId> to_install_;  // of those that arrive: not in their places, in the order they came
  std::function<void(const wire::StepNews&)> on_news_;
  std::vector<wire::Version> newest_;  // by shard: what it has told of
  std::vector<bool> due_;              // by block: of that, and still to come
  std::vector<std::size_t> due_of_;    // by shard: how many of them
  std::vector<bool> begun_early_;      // by shard: the present work was begun before they had come
  struct InPlaces {
    std::uint64_t view = 0;  // of the servers that it is from
    wire::Version version = 0;
  };
  std::vector<std::optional<InPlaces>> in_places_;  // by shard: what is there in full, and nothing is being written
  std::vector<wire::Version> installing_;           // by shard: what is being put there
  std::vector<bool> ahead_;                         // by shard: something is there that its shard has not told of yet
  std::vector<bool> asked_again_;                   // by shard: for what was overwritten so
  std::map<wire::ShardId, wire::Wanted> wanted_;    // by shard: asked for by its server
  std::map<wire::Ticket, Payload> pushing_;
  wire::Ticket next_ticket_ = 1;
};

}  // namespace yoke::cluster
