// One network on one server: the shard that the server hosts, on the first server the sequencer besides, and the
// payload that is theirs for a while. When its job is over, a container keeps it as it is, frozen, for the next. Turns
// messages into events for the machines of core, and their effects into passes and messages. Everything happens in the
// loop's thread but the passes, which the workers run.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/write.h"
#include "cluster/shard_store.h"
#include "cluster/slice.h"
#include "cluster/tally.h"
#include "cluster/workers.h"
#include "core/sequencer.h"
#include "core/shard.h"
#include "history/recorder.h"
#include "transport/arena.h"
#include "transport/connection.h"
#include "wire/job.h"

namespace yoke::cluster {

class HostedNetwork;

// The way from a network to the other processes and to the disk; the server's.
class Outlet {
 public:
  virtual ~Outlet() = default;
  // A message to whoever is elsewhere; lost when nobody is there.
  virtual void send(std::uint32_t network, const wire::Address& from, const wire::Address& to,
                    const wire::Message& message) = 0;
  // A block's values to a replica.
  virtual void send_values(std::uint32_t network, wire::ReplicaId replica, wire::BlockId block,
                           ShardStore::Values values) = 0;
  // Posts to the loop's thread, from any thread; may outlive all of it.
  using Post = std::function<void(Call)>;
  virtual Post poster() const = 0;
  // No pass of the network runs any more.
  virtual void passes_done() = 0;
  // A part of a checkpoint, to be brought to the disk; `captured` answers.
  virtual void save_part(HostedNetwork& network, const core::Capture& capture, checkpoint::Part part) = 0;
  // All parts are there; `sealed` answers.
  virtual void seal(HostedNetwork& network, const core::Seal& seal) = 0;
  virtual void discard(HostedNetwork& network, const core::Discard& discard) = 0;
  virtual void announce(HostedNetwork& network, const core::Announce& announce) = 0;
  // What it goes on from has been read, or could not be.
  virtual void loaded(HostedNetwork& network, const Status& status) = 0;
  // It has what the optimizer remembers, or nothing of it (`remembered`: of which version), and wants the values.
  virtual void wants_values(HostedNetwork& network, wire::Version version, std::optional<wire::Version> remembered) = 0;
  // What the shard made, to its twin; `mirrored` answers.
  virtual void mirror(HostedNetwork& network, wire::Version version, Slice slice) = 0;
  // To its backup: all of a version; the mean of a block that was made of it, empty: the block was carried over; that
  // these were all of a version (`mirrored` answers, as to the first); that it has all that was told of.
  virtual void fill(HostedNetwork& network, wire::Version version, Slice slice) = 0;
  virtual void send_mean(const wire::Mean& mean, transport::Bytes values) = 0;
  virtual void means_done(HostedNetwork& network, wire::Version version, std::optional<core::Standing> standing) = 0;
  virtual void tell_filled(HostedNetwork& network) = 0;
  virtual Time now() const = 0;
  virtual void say(const std::string& text) = 0;
};

// How a network begins on a server.
struct Beginning {
  std::optional<core::Standing> standing;  // it goes on from there
  bool twin = false;                       // what the shard makes is held by another, too
  std::uint64_t view = 0;                  // of the job, where that is formed anew
  bool coordinated = false;                // the shard may have a backup; `twin`: which has all of it
  bool later = false;                      // then: it is not the first view of the job
};

class HostedNetwork : public std::enable_shared_from_this<HostedNetwork> {
 public:
  HostedNetwork(std::uint32_t network, wire::ShardId shard, wire::JobTerms terms, Layout layout, wire::About about,
                Outlet& outlet, Workers& workers, std::shared_ptr<transport::Arena> arena,
                std::shared_ptr<history::Recorder> recorder, Beginning beginning = {});

  std::uint32_t number() const { return network_; }
  wire::ShardId shard() const { return id_; }
  const wire::JobTerms& terms() const { return terms_; }
  const Layout& layout() const { return layout_; }
  const wire::About& about() const { return about_; }
  const core::BlockPlan& plan() const { return plan_; }
  // Does this server host a part of it? A small network may have fewer shards than there are servers.
  bool hosts() const { return shard_.has_value(); }
  // There was memory for what it hosts.
  bool ready() const { return !store_ || store_->ready(); }
  std::uint64_t shard_bytes() const { return store_ ? store_->bytes() : 0; }

  // --- the first values ---
  Status bring(const wire::FirstValues& where, std::span<const float> values);
  void brought();
  bool initialised() const { return initialised_; }
  bool loading() const { return loading_; }
  const std::vector<std::vector<float>>& frozen() const { return frozen_; }  // by slot; on the first server
  // Null: this server hosts no part of it.
  ShardStore* store() const { return store_.get(); }
  // The values and the optimizer's state have been put back from a file: nobody trains them, and so many updates are
  // behind them.
  void restored(wire::Version version);
  // Values and state of the checkpoint whose standing it was made with, before anything else: `begin_loading`; `load`
  // from any thread, which counts what it has read in `progress`; `loaded`. What comes meanwhile waits.
  void begin_loading() { loading_ = true; }
  Status load(const checkpoint::Checkpoint& from, std::atomic<std::uint64_t>& progress);
  void loaded(const Status& status);
  // Where a replica has the values: after `begin_loading` only the state, from any thread; then it is asked for the
  // values of the version that this was made with (`bring`). `remembered`: of which version the state is.
  Status load_memory(const checkpoint::Checkpoint& from, std::atomic<std::uint64_t>& progress);
  void await_values(std::optional<wire::Version> remembered);
  bool awaits_values() const { return awaits_values_; }
  // From one who begins with the first of them; and that these were all.
  void expect_values();
  Status values_brought();
  // The same, from the memory of those that formed the job anew.
  Status load(const Inheritance& from);
  // Takes over the values of one that is frozen, and the optimizer's state too where that means the same in both.
  void go_on_from(HostedNetwork& former);
  ShardStore::Values first(wire::BlockId block) const { return store_->present(block); }

  // --- training ---
  // Is this a push that may come, of this size?
  Status check_push(const wire::Push& push, std::size_t bytes) const;
  void receive(const wire::Address& from, wire::Message message, transport::Bytes payload);
  void down(const wire::Life& life, const std::string& reason);
  void stop(const std::string& reason);
  void drain(wire::ReplicaId replica, const std::string& reason);

  // --- checkpoints ---
  void take_checkpoint(const core::TakeCheckpoint& request);
  void captured(std::uint64_t token, const Result<std::uint64_t>& sum);
  void sealed(std::uint64_t token, const Status& status);
  checkpoint::NetworkFacts facts(core::Standing standing) const;

  // --- held twice ---
  void mirrored(wire::Version version);
  // There is a backup from now on, which has nothing yet; or there is none.
  void backup_changed(bool there);
  // What there is of it, by version: what is committed, and what is made and may or may not be.
  std::map<wire::Version, Slice> slices() const;
  // What has been counted so far, where this was the first server before as well.
  void go_on_counting(const Tally& tally) { tally_ = tally; }

  // --- its end ---
  // Nothing happens to its values from now on.
  void freeze();
  bool busy() const { return passes_ > 0; }
  // Whoever hosts it is no more; passes that run may end later.
  void detach() { detached_ = true; }
  // Lets go of all but its values and what the optimizer remembers; when it is frozen and not busy.
  void keep_values_only();
  // Updates that its values had behind them when this job began with them; and that they have by now.
  wire::Version began_with() const { return before_ + (resumed_ ? resumed_->version : 0); }
  wire::Version version() const { return before_ + (store_ ? store_->version() : 0); }

  // --- on the first server ---
  const core::Sequencer* sequencer() const { return sequencer_ ? &*sequencer_ : nullptr; }
  const Tally& tally() const { return tally_; }
  // The version that the last decision makes.
  wire::Version decided() const { return decided_; }

 private:
  struct Held {  // a payload that is ours until its release
    transport::Bytes payload;
    wire::GradientId gradient;
    wire::BlockId block = 0;
    const float* values() const { return reinterpret_cast<const float*>(payload.bytes.data()); }
  };

  // What a pass is made of, and what comes out of it. They serve again and again, with the memory that they have.
  struct Pass {
    core::Reduce what;
    std::vector<Part> parts;
    std::shared_ptr<std::byte> mean;  // for a backup; null: none follows
    bool followed = false;
    kernel::Check check;  // of parts.front()
    double squares = 0;   // of the parts' mean
    bool finite = true;
  };
  Pass& take_pass();
  void give_back(Pass& pass);
  // A worker does the work, and what is then to be done the loop's thread. Both capture little, or memory is allocated.
  template <class Work, class Then>
  void run(std::size_t floats, Work work, Then then);

  void deliver(const wire::Address& to, core::Event event);
  void drain();
  void carry_out(const wire::Address& actor, const core::Effect& effect);
  void on_send(const wire::Address& actor, const core::Send& send);
  void verify(const core::Verify& verify);
  void measure(const core::Measure& measure);
  void reduce(const core::Reduce& reduce);
  void preview(const core::Preview& preview);
  void reduced(Pass& pass);
  void note(const core::Reduce& reduce, bool ok);
  void keep(const core::Reduce& made);
  void add_parts(const std::vector<core::Share>& shares, std::vector<Part>& parts) const;
  void show(const wire::Address& shard, wire::Parameters told);
  void capture(const core::Capture& capture);
  Slice slice(bool next) const;
  void record(history::What what) {
    if (recorder_) recorder_->add(outlet_.now(), std::move(what));
  }

  const std::uint32_t network_;
  const wire::ShardId id_;
  const wire::JobTerms terms_;
  const Layout layout_;
  const wire::About about_;
  const core::BlockPlan plan_;
  Outlet& outlet_;
  const Outlet::Post post_;
  Workers& workers_;
  const std::shared_ptr<history::Recorder> recorder_;
  const std::shared_ptr<transport::Arena> arena_;
  std::unique_ptr<ShardStore> store_;
  std::vector<std::vector<float>> frozen_;
  bool initialised_ = false;
  bool loading_ = false;
  bool awaits_values_ = false;
  std::set<wire::BlockId> missing_;   // of them
  std::uint64_t missing_frozen_ = 0;  // floats
  bool young_state_ = false;          // the optimizer may know less of this shard than of others
  bool over_ = false;
  bool detached_ = false;
  wire::Version before_ = 0;  // updates by former jobs
  std::size_t passes_ = 0;    // that workers run
  std::deque<Pass> all_passes_;
  std::vector<Pass*> free_passes_;

  std::optional<core::Sequencer> sequencer_;
  std::optional<core::Shard> shard_;
  Tally tally_;
  std::uint64_t next_record_ = 0;
  wire::Version decided_ = 0;
  bool terms_written_ = false;
  std::optional<core::Standing> resumed_;  // what it was made with
  bool formed_ = false;                    // from memory, not from a checkpoint
  const bool coordinated_;
  const bool later_view_;
  bool followed_;     // a backup follows: it gets the means
  struct Previewed {  // what a life has been sent of the version that is being made
    wire::Version version = 0;
    std::set<wire::BlockId> blocks;
  };
  std::map<wire::Life, Previewed> previewed_;
  std::optional<bool> backup_awaits_;  // for the first values: there is one, or none
  bool expected_ = false;              // it is known how much data there is
  std::deque<std::pair<wire::Address, core::Event>> inbox_;
  bool draining_ = false;
  std::unordered_map<wire::Ticket, Held> held_;
  wire::Ticket next_ticket_;
};

using Networks = std::map<std::uint32_t, std::shared_ptr<HostedNetwork>>;  // by number

}  // namespace yoke::cluster
