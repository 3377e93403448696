// The promises as rules over a history. Each rule sees every event in order, before the tally takes it in, and says in
// words what was broken.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "history/tally.h"

namespace yoke::history {

// Of rates and weights, which two may have computed each in its own order.
inline bool nearly_equal(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)});
}

// Every payload that was examined, with its place in the history.
class Payloads {
 public:
  explicit Payloads(std::span<const Event> events);

  struct Payload {
    wire::GradientId gradient;
    wire::BlockId block = 0;
    bool ok = false;
    std::size_t at = 0;
  };
  // Null: it was never examined.
  const Payload* find(wire::Ticket ticket) const;
  // Did the gradient ever have a payload for the block?
  bool any(const wire::GradientId& gradient, wire::BlockId block) const;
  // The blocks of the gradient that were not found sound before place `at`, though they had payloads.
  std::vector<wire::BlockId> unsound(const wire::GradientId& gradient, std::size_t at) const;

 private:
  std::map<wire::Ticket, Payload> payloads_;
  std::map<wire::GradientId, std::map<wire::BlockId, std::size_t>> sound_;  // when first found so; npos: never
};

// Each gradient is decided once, its replica is told what the log says, and none stays undecided. Nobody runs ahead
// further than allowed, or computes on an older version than it was given.
class FateRules {
 public:
  FateRules(const Tally& tally, Findings& out) : tally_(tally), out_(out) {}
  void on(const Event& event);
  void end();

 private:
  void on_assigned(const wire::Assign& assign);
  void on_installed(const Installed& installed);
  void on_decided(const wire::Record& record);
  void decide(const wire::Verdict& verdict);
  void on_told(const wire::Verdict& told);

  const Tally& tally_;
  Findings& out_;
  std::map<wire::GradientId, wire::Assign> assigned_;
  std::map<wire::GradientId, wire::Verdict> decided_;
  bool finished_ = false;
};

// Each update is made of the right gradients: as many as it must be, distinct, fresh or not too stale, examined, with
// the right weights and the right rate.
class UpdateRules {
 public:
  UpdateRules(const Tally& tally, const Payloads& payloads, Findings& out)
      : tally_(tally), payloads_(payloads), out_(out) {}
  void on(const Event& event, std::size_t at);

 private:
  void check_quorum(const wire::Record& record);
  void check_sync(const wire::Record& record);
  void check_async(const wire::Record& record);
  void check_base(const wire::Record& record, const wire::Contribution& part);

  const Tally& tally_;
  const Payloads& payloads_;
  Findings& out_;
  std::map<wire::GradientId, std::map<wire::ShardId, wire::Version>> installed_;
  std::uint64_t next_index_ = 0;
};

// Every shard makes every block of every version once, of the payloads of the record's gradients, and shows it when
// every shard has made it.
class ShardRules {
 public:
  ShardRules(const Tally& tally, const Payloads& payloads, Findings& out)
      : tally_(tally), payloads_(payloads), out_(out) {}
  void on(const Event& event, std::size_t at);
  void end();

 private:
  void on_resumed(const Resumed& resumed);
  void on_made(const Made& made);
  void check_used(const Made& made, const wire::Record& record);
  void on_published(const Published& published);
  // A shard that has not made every block of the version, in words; empty: there is none.
  std::string unmade(wire::Version version) const;

  const Tally& tally_;
  const Payloads& payloads_;
  Findings& out_;
  std::map<std::pair<wire::ShardId, wire::Version>, std::set<wire::BlockId>> made_;
  std::map<wire::BlockId, wire::ShardId> home_;
  std::map<wire::ShardId, wire::Version> published_;
  std::map<wire::Version, double> scale_;
  std::vector<std::size_t> decided_at_;  // by step
  const Finished* finished_ = nullptr;
};

// Each sample counts once an epoch, also when the job was lost and went on from a checkpoint.
class SampleRules {
 public:
  SampleRules(const Tally& tally, Findings& out) : tally_(tally), out_(out) {}
  void on(const Event& event, std::size_t at);
  void end();

 private:
  using Counted = std::map<std::uint32_t, std::vector<bool>>;  // epoch -> by place

  void on_resumed(const Resumed& resumed, bool at_the_beginning);
  void on_assigned(const std::optional<wire::Range>& range);
  void count(const wire::Contribution& part);
  // What had counted, by the standing's word.
  Counted counted_in(const core::Standing& standing);
  void compare(const Counted& said, const core::Standing& standing);

  const Tally& tally_;
  Findings& out_;
  Counted counted_;
  Counted before_;  // this history began
  double samples_before_ = 0;
  const core::LedgerStanding* resumed_ = nullptr;  // what the job went on from
  std::set<std::pair<std::uint32_t, std::uint64_t>>
      to_return_;  // epoch and place, given back there: not handed out yet
  const Finished* finished_ = nullptr;
  bool stopped_ = false;
};

// A checkpoint is what every shard had in one and the same version, the one the log marked; it is announced when all of
// that lies on the disk, and from then on a job that is lost goes on from it or from a later one.
class CheckpointRules {
 public:
  CheckpointRules(const Tally& tally, Findings& out) : tally_(tally), out_(out) {}
  void on(const Event& event, std::size_t at);

 private:
  struct Mark {
    wire::Version version = 0;
    std::size_t shards = 0;  // that have to capture it
    std::set<wire::ShardId> captured;
    bool announced = false;
  };
  void on_marked(const wire::Record& record);
  void on_captured(const Captured& captured);
  void on_announced(const Announced& announced);
  void on_resumed(const Resumed& resumed);

  const Tally& tally_;
  Findings& out_;
  std::map<std::uint64_t, Mark> marks_;  // by token
  std::map<wire::ShardId, wire::Version> published_;
};

// A job that is formed anew has all that anybody was shown or told of, and goes on from where the log says it stood.
class FormingRules {
 public:
  FormingRules(const Tally& tally, Findings& out) : tally_(tally), out_(out) {}
  void on(const Event& event);

 private:
  void keep(wire::Version version, const char* how);
  void on_formed(const core::Standing& standing);

  const Tally& tally_;
  Findings& out_;
  wire::Version kept_ = 0;  // the newest that may not be lost
  const char* how_ = "begun with";
  std::optional<core::Standing> gone_on_from_;  // what a checkpoint had, last
};

}  // namespace yoke::history
