// The sequencer decides what each update is made of, and writes it into the log; the shards only follow the log.
//
// A step is received, decided, committed. Shards report each gradient that is complete and checked; when every shard
// has reported it, it is whole. Synchronous: when the quorum of distinct replicas is whole, one record makes the update
// of them and turns the others away. Asynchronous: each whole gradient gets a record at once, which applies it, scaled
// as its staleness says, or drops it. When every shard has reduced a record, it is committed, and the replicas are
// told.
//
// One assignment a replica is open at a time, and a gradient is the answer to one assignment: so it is decided once,
// however often it is sent. Whatever may be lost with a connection is sent again when the peer asks (Hello) or the
// driver says that the connection was reset; every message may arrive twice, late, or out of order.
//
// A checkpoint is a mark in the log, and never delays a step. Synchronous: between two steps, when nobody works.
// Asynchronous: as soon as the version asked for is decided; what is being worked on then counts as given back.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoints.h"
#include "core/effects.h"
#include "core/ledger.h"
#include "core/membership.h"
#include "core/quorum.h"
#include "yoke/options.h"

namespace yoke::core {

struct SequencerOptions {
  std::uint32_t replicas = 1;
  std::uint32_t spares = 0;
  std::uint32_t shards = 1;
  bool async = false;
  bool everybody = false;  // mirrored: who has no samples for a step takes part with nothing
  bool outlived = false;  // the shards may have to go on without this sequencer: each record says where training stands
  std::uint32_t epochs = 1;
  std::uint64_t steps = 0;  // 0: until the epochs are over
  std::vector<BatchChange> batch_schedule;
  std::uint32_t warmup_epochs = 0;
  std::uint64_t warmup_steps = 0;
  ScheduleOptions schedule;
  StaleOptions stale;
  double clip_norm = 0;
  std::uint32_t max_refusals = 3;
  std::uint32_t min_replicas = 1;  // with fewer in the job nothing is decided
  bool forecasts = false;          // the shards are told in advance what a step will be made of, where that is known
};

class Sequencer {
 public:
  // With a standing it goes on from there: the shards have its version, and the data its size. The batch and all of the
  // options may be others than they were.
  explicit Sequencer(SequencerOptions options, std::optional<Standing> standing = {});

  void on(const Event& event, Time now, Effects& out);

  Version committed() const { return committed_; }
  std::uint32_t epochs_counted() const;
  bool done() const { return done_; }
  // Why training was ended before its epochs or steps were over; empty: it was not.
  const std::string& stopped() const { return stop_; }
  std::uint32_t count_alive() const { return members_.count_alive(); }
  bool alive(ReplicaId replica) const { return members_.alive(replica); }
  // Why a replica takes part no more; empty: it does, or never has.
  const std::string& why_gone(ReplicaId replica) const { return members_.why_down(replica); }
  // A checkpoint is under way, or waits to be begun.
  bool checkpointing() const { return checkpoints_.busy(); }
  // Who is being waited for, in words: for the error when a deadline passes.
  std::string waiting_for() const;

 private:
  // An assignment that is not settled.
  struct Work {
    Version step = 0;
    std::optional<Range> range;
    std::uint32_t samples = 0;
    std::uint64_t counted = 0;   // as Assign says it
    std::vector<bool> reported;  // by shard
    std::uint32_t reports = 0;
    Version base = 0;
    bool whole = false;
  };
  struct Replica {
    Sequence last_sequence = 0;
    std::optional<GradientId> open;  // what it works on
    std::optional<Verdict> last_verdict;
    std::uint64_t settled = 0;            // gradients decided, for the bound on the lead
    bool warming = false;                 // its work is part of the warm-up, and does not count in `settled`
    std::uint32_t refusals = 0;           // in a row
    bool won = true;                      // its last gradient counted
    std::optional<std::string> draining;  // it is to go when what it works on is settled, and why
    std::optional<Turned> drained;        // what it was told when it went
  };

  void on_hello(const Hello& hello, Effects& out);
  void on_report(const Report& report, Effects& out);
  void on_measured(const wire::Measured& measured, Effects& out);
  void on_reduced(const wire::Reduced& reduced, Effects& out);
  void on_shard_reset(ShardId shard, Effects& out);
  void on_down(const Life& life, const std::string& reason, Effects& out);
  void on_stop(const std::string& reason);
  void on_drain(const Drain& drain);

  void advance(Effects& out);  // decides, hands out and ends whatever can be
  void let_go(Effects& out);   // of those that are draining, once they are free
  void mark(Effects& out);     // begins the checkpoint that was asked for, when it can be
  Standing standing() const;
  void decide_step(Effects& out);
  void decide_one(const GradientId& gradient, Effects& out);
  void append(Record record, Effects& out);
  void commit(Effects& out);
  void hand_out(Effects& out);
  void foresee(Effects& out);
  bool free(const Life& life) const;
  // Of those that stay it has the lowest number: the one that warms up.
  bool comes_first(const Life& life) const;
  bool may_work(const Life& life) const;
  bool anybody_works() const;
  bool stands(ReplicaId replica) const;
  void assign(const Life& life, std::optional<Range> range, Effects& out);
  // Ends an open assignment without applying it; its samples go back.
  Verdict turn_away(const GradientId& gradient, Fate fate, std::string reason);
  // Its replica is free for the next assignment.
  void close(const Verdict& verdict);
  void tell(const Verdict& verdict, Effects& out);
  void resend(const Life& life, Effects& out);
  void finish(Effects& out);

  // Open, and not complete on every shard.
  bool unfinished(const GradientId& gradient) const;
  bool warming_up() const;
  // Too few are in the job: nothing is handed out and nothing applied until others come.
  bool short_handed() const { return count_in() < options_.min_replicas; }
  std::uint32_t count_in() const;
  // Replicas whose samples make a step, and those that take part in it.
  std::uint32_t contributors() const { return warming_up() ? 1 : options_.replicas - options_.spares; }
  std::uint32_t wanted() const { return options_.everybody ? options_.replicas : contributors(); }
  bool over() const;
  // No update more is to be decided.
  bool enough() const { return !stop_.empty() || (options_.steps > 0 && decided_ >= options_.steps); }
  double rate() const;
  void to_shards(const Message& message, Effects& out) const;

  SequencerOptions options_;
  Membership members_;
  std::optional<Standing> from_;  // what it goes on from
  std::optional<Ledger> ledger_;
  bool has_data_ = false;      // somebody said how large the data is
  std::uint64_t samples_ = 0;  // 0: no ledger
  std::uint32_t batch_ = 1;

  std::map<ReplicaId, Replica> replicas_;
  std::map<GradientId, Work> open_;
  std::vector<GradientId> whole_;  // in the order in which they became whole

  std::map<std::uint64_t, Record> log_;  // by index: those that not every shard has reduced yet
  std::uint64_t next_index_ = 0;
  Version decided_ = 0;           // updates decided
  Version committed_ = 0;         // updates that every shard has made
  std::vector<Version> reduced_;  // by shard
  std::map<Version, std::map<ShardId, double>> measured_;
  std::map<Version, double> scales_;
  std::optional<Forecast> forecast_;  // the last that was told, or taken back
  bool lineup_changed_ = false;       // others work on the step than when it was foreseen
  Version warmup_end_ = 0;            // the last version that only one replica worked on
  double samples_decided_ = 0;
  Checkpoints checkpoints_;
  std::string stop_;
  bool done_ = false;
};

}  // namespace yoke::core
