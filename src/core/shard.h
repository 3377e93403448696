// A shard hosts some of the blocks. It keeps each replica's blocks apart until the log says what to do with them, then
// makes the next version in one pass. It holds two versions: the pass reads `step` and writes `step + 1`; the commit
// shows the new one. Records are applied strictly in the order of their index, each once, whatever order they arrive
// in. Where the sequencer can say in advance what a step will be made of, a block is made as soon as its last gradient
// is there, and may travel before it is decided; it counts when the record says the same. Where it has a twin, the next
// version is told of only when that has it, too: then the loss of either loses nothing that was committed. A record
// that marks a checkpoint is come to when all before it is shown: what the shard has then is that version.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/block_plan.h"
#include "core/effects.h"

namespace yoke::core {

class Shard {
 public:
  // `plan` outlives the shard. It begins with version `committed` of its blocks. `twin`: somebody else has them, too.
  Shard(ShardId id, const BlockPlan& plan, Version committed = 0, bool twin = false);

  void on(const Event& event, Time now, Effects& out);

  Version committed() const { return committed_; }
  // The next version is made, whether it is committed or not.
  bool made_next() const { return pass_ && pass_->started && pass_->to_reduce.empty(); }
  // Where training stands with what is committed, and then, as the records said.
  const std::optional<Standing>& standing() const { return standing_; }
  const std::optional<Standing>& standing_next() const { return pass_->record.standing; }

 private:
  struct Part {  // one block of one gradient
    Ticket ticket = 0;
    bool verified = false;
  };
  struct Staged {
    Version base = 0;
    std::uint32_t samples = 0;
    std::map<BlockId, Part> parts;
    std::uint32_t verified = 0;
    double sum_squares = 0;
    std::string refused;  // why; empty: it is not
  };
  struct Pass {  // the record being applied
    Record record;
    std::map<BlockId, double> squares;  // measured
    std::set<BlockId> to_measure;
    std::set<BlockId> to_reduce;
    bool started = false;
    bool told = false;
  };
  // The next version, made before it is decided, of what the forecast says. A gradient that is in it is looked at by
  // the pass that uses it, once all of the block are there.
  struct Ahead {
    Forecast forecast;
    bool off = false;                  // nothing more is made ahead
    std::map<BlockId, Reduce> flying;  // passes that run
    std::map<BlockId, Reduce> made;    // and those that are through
    bool spoilt = false;               // something was written that does not count
  };

  void on_push(const Push& push, Effects& out);
  void on_verified(const Verified& verified, Effects& out);
  void on_fence(const Life& life, Effects& out);
  // May this life still be heard? Not when a later one is known of.
  bool admit(const Life& life, Effects& out);
  void on_pull(const Pull& pull, Effects& out);
  void report(const GradientId& gradient, const Staged& staged, Effects& out) const;
  void next_record(Effects& out);
  void begin_pass(Effects& out);
  void start_pass(Effects& out);
  void finish_pass(Effects& out);
  void on_forecast(const Forecast& forecast, Effects& out);
  const Forecast::Part* foreseen(const GradientId& gradient) const;
  void make_ahead(BlockId block, Effects& out);
  void on_made_ahead(const BlockReduced& reduced, Effects& out);
  void take_over(Effects& out);
  void call_off(Effects& out);
  void examine(const GradientId& gradient, BlockId block, Effects& out);
  bool as_foreseen(const Record& record) const;
  void mark_verified(const GradientId& gradient, BlockId block, double sum_squares, Effects& out);
  void on_measured(const BlockMeasured& measured, Effects& out);
  void on_reduced(const BlockReduced& reduced, Effects& out);
  void on_mirrored(const Mirrored& mirrored, Effects& out);
  void on_backup(bool there, Effects& out);
  void fill(Effects& out);
  void tell(Effects& out);
  void show(Effects& out);
  void on_captured(const Captured& captured, Effects& out);
  void settle(const GradientId& gradient, Effects& out);
  void let_go(BlockId block, Ticket ticket, Effects& out);
  bool settled(const GradientId& gradient) const;
  std::vector<Share> shares_of(BlockId block) const;
  std::vector<Share> shares_of(BlockId block, const std::vector<Forecast::Part>& parts) const;
  void say_again(Effects& out) const;
  GradientId key(const GradientId& gradient) const;

  ShardId id_;
  const BlockPlan& plan_;
  const std::vector<BlockId>& blocks_;
  enum class Backing {
    none,     // nobody has it but this
    awaited,  // there is a backup, which is filled when no pass is under way
    filling,  // it gets what is shown, and the means of what is made; nobody waits for it
    gated,    // what is made is told of when it has it
  } backing_;
  Version told_ = 0;     // the newest that was told of and may not be there
  bool filled_ = false;  // it was told that it has all of it

  std::map<GradientId, Staged> staged_;
  std::map<Ticket, std::pair<GradientId, BlockId>> verifying_;
  std::map<ReplicaId, Incarnation> fence_;  // the newest life heard of
  std::map<Life, Sequence> settled_;        // decided up to here

  std::map<std::uint64_t, Record> records_;  // that came and are not applied yet
  std::uint64_t next_index_ = 0;
  std::optional<Pass> pass_;
  std::optional<Ahead> ahead_;
  Version heard_of_ = 0;      // forecasts of the steps before have come
  std::set<Ticket> orphans_;  // let go of while the driver reads them
  std::map<Version, double> scales_;
  Version committed_ = 0;  // shown
  std::optional<Standing> standing_;
  Version commit_through_ = 0;  // what the sequencer has committed
  std::map<ReplicaId, Pull> pulls_;
  std::uint64_t mark_ = 0;          // the newest checkpoint's token
  std::optional<PartSaved> saved_;  // what became of this shard's part of it
};

}  // namespace yoke::core
