// A replica's side of the protocol: what it works on, what it has pushed and must be ready to push again, what it was
// told. The driver computes; this says when it may, and carries the answers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/block_plan.h"
#include "core/effects.h"

namespace yoke::core {

class ReplicaSide {
 public:
  // `plan` outlives it.
  ReplicaSide(Life life, const BlockPlan& plan, std::uint64_t samples, std::uint32_t batch);

  void join(Effects& out);
  void on(const Event& event, Time now, Effects& out);

  // The assignment being worked on; the next one becomes it when this one is settled.
  const std::optional<Assign>& work() const { return work_; }
  // Every shard's parameters for the work have arrived.
  bool parameters_here() const;
  bool here(ShardId shard) const { return versions_[shard].has_value(); }
  // The oldest version among them; a driver that reads newer ones says so with `installed`.
  Version base() const;
  void installed(ShardId shard, Version version);

  // One block of the work's gradient is there; ticket 0: absent. Each block once.
  void push(BlockId block, Ticket ticket, std::uint32_t samples, Effects& out);

  // What became of gradient `sequence`, once it is known.
  const Verdict* verdict(Sequence sequence) const;
  bool done() const { return done_.has_value(); }
  Version final_version() const { return done_ ? done_->version : 0; }
  // Why it may not take part; empty: it may.
  const std::string& turned_away() const { return turned_; }
  // It was asked to go, and nothing is wrong with it; turned_away() says why.
  bool drained() const { return drained_; }

 private:
  void take_next(Effects& out);
  void send_push(BlockId block, Effects& out) const;

  Life life_;
  const BlockPlan& plan_;
  std::uint64_t samples_;
  std::uint32_t batch_;
  std::optional<Assign> work_;
  std::optional<Assign> next_;
  std::optional<Verdict> verdict_;                // the newest
  std::vector<std::optional<Version>> versions_;  // by shard, for the work
  std::vector<Version> early_;                    // by shard: what has come unasked
  std::vector<bool> missed_;                      // by shard: what was sent unasked may be lost
  struct Pushed {
    Ticket ticket = 0;
    std::uint32_t samples = 0;
  };
  std::map<BlockId, Pushed> pushed_;
  std::optional<Done> done_;
  std::string turned_;
  bool drained_ = false;
};

}  // namespace yoke::core
