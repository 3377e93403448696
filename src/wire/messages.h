// What replicas, shards and the sequencer say to each other. Plain values: no I/O, no payload (bytes are named by
// tickets that the driver holds). docs/protocol.md tells the story; the glossary is in docs/glossary.md.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace yoke::wire {

using ReplicaId = std::uint32_t;
using ShardId = std::uint32_t;
using BlockId = std::uint32_t;
using Incarnation = std::uint64_t;  // which life of a replica's process; a later one is larger
using Sequence = std::uint64_t;     // which assignment of that life, from 1
using Version = std::uint64_t;      // updates committed
using Ticket = std::uint64_t;       // names a payload that the driver holds; 0: none

// One life of one replica.
struct Life {
  ReplicaId replica = 0;
  Incarnation incarnation = 0;
  auto operator<=>(const Life&) const = default;
};

// A gradient is the answer to one assignment of one life, and is decided once.
struct GradientId {
  Life life;
  Sequence sequence = 0;
  auto operator<=>(const GradientId&) const = default;
};

// Places [begin, end) in the order in which one epoch visits the samples.
struct Range {
  std::uint32_t epoch = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t size() const { return end - begin; }
  auto operator<=>(const Range&) const = default;
};

enum class Fate { applied, dropped, refused };

// What became of a gradient, and why in words.
struct Verdict {
  GradientId gradient;
  Fate fate = Fate::applied;
  Version version = 0;          // the version it was decided at
  std::uint64_t staleness = 0;  // versions between what it was computed on and what it was decided at
  std::string reason;
};

// One gradient's part in an update.
struct Contribution {
  GradientId gradient;
  Version base = 0;             // the oldest version any of its blocks was computed on
  std::uint64_t staleness = 0;  // step - base
  std::uint32_t samples = 0;
  double weight = 1;  // its share of the mean, times what staleness left of it
  std::optional<Range> range;
};

// Where a training stands at one version: with the values and the optimizer's state, all that it takes to go on from
// there. It does not say who was working: whoever was, his samples are among those to be handed out again.
struct LedgerStanding {
  std::uint32_t epoch = 0;  // of the cursor
  std::uint64_t cursor = 0;
  std::vector<Range> returned;                     // to be handed out first, in this order
  std::map<std::uint32_t, std::uint64_t> counted;  // epochs under way -> samples counted
  std::uint32_t counted_epochs = 0;                // epochs of which every sample has counted
  bool operator==(const LedgerStanding&) const = default;
};

struct Standing {
  Version version = 0;
  std::uint64_t samples = 0;  // an epoch; 0: the data has no size
  std::uint32_t batch = 1;
  std::optional<LedgerStanding> ledger;  // none: the data has no size
  double samples_decided = 0;            // what schedules go by
  Version warmup_end = 0;                // the last version that only one replica worked on
  bool operator==(const Standing&) const = default;
};

// One decision of the sequencer; the log is all of them, in order of `index`. An update when something was applied
// (version `step` becomes `step + 1`), otherwise only news of gradients turned away.
struct Record {
  std::uint64_t index = 0;
  Version step = 0;
  std::vector<Contribution> applied;  // in replica order
  std::vector<Verdict> turned_away;
  std::uint32_t quorum = 0;  // how many it had to be
  bool degraded = false;     // fewer than configured, because replicas are gone
  double rate = 1;           // factor on every group's learning rate
  bool clip = false;         // the shards measure the mean first and wait for Scale
  std::uint64_t mark = 0;    // not 0: a checkpoint of version `step` is taken here, and this is its token
  std::string reason;
  std::optional<Standing> standing;  // once it is applied; where the shards outlive the sequencer (mirrored)
};

// --- replica to sequencer ---

// Joins, or (same life) asks again for what it may have missed.
struct Hello {
  Life life;
  std::uint64_t samples = 0;  // size of the data; 0: no ledger
  std::uint32_t batch = 1;
};

// --- sequencer to replica ---

struct Assign {
  GradientId gradient;         // the answer will carry this name
  Version step = 0;            // compute on this version (async: at least this one)
  std::optional<Range> range;  // none: the data has no size
  std::uint64_t counted = 0;   // samples that had counted when it was given out
};

// Training is over; the final version.
struct Done {
  Version version = 0;
  std::string reason;
};

struct Settled {
  Verdict verdict;
};

// This life may not take part (an older incarnation, another data size, struck off), or was asked to go.
struct Turned {
  Life life;
  std::string reason;
  bool drained = false;  // it was taken out in good order: nothing is wrong with it
};

// --- replica to shard ---

// One block of a gradient. Sent again after a reset; the shard tells doubles by (gradient, block).
struct Push {
  GradientId gradient;
  Version base = 0;
  BlockId block = 0;
  Ticket ticket = 0;  // 0: absent, the parameter took no part in this backward pass
  std::uint32_t samples = 0;
};

// "Send me your blocks as soon as you have committed this version." Those whose gradients a version is made of are sent
// it unasked.
struct Pull {
  Life life;
  Version at_least = 0;
};

// --- shard to replica ---

struct Parameters {
  Life life;
  ShardId shard = 0;
  Version version = 0;
  std::uint32_t follow = 0;  // so many blocks of it come after this; all of them: what came before does not count
};

// --- shard to sequencer ---

// A gradient is complete on this shard and checked, or refused.
struct Report {
  ShardId shard = 0;
  GradientId gradient;
  Version base = 0;
  std::uint32_t samples = 0;
  bool ok = true;
  double sum_squares = 0;
  std::string reason;  // when not ok
};

// The sum of squares of the mean gradient on this shard, for clipping by the global norm.
struct Measured {
  ShardId shard = 0;
  Version step = 0;
  double sum_squares = 0;
};

// This shard has made version `version`, and waits for the commit to show it.
struct Reduced {
  ShardId shard = 0;
  Version version = 0;
};

// This shard's part of the checkpoint is on the disk, or why it is not.
struct PartSaved {
  ShardId shard = 0;
  std::uint64_t token = 0;
  bool ok = true;
  std::uint64_t sum = 0;  // of the file that lists the part's files
  std::string reason;     // when not ok
};

// --- sequencer to shard ---

// Completes record `step`: the factor on the mean gradient.
struct Scale {
  Version step = 0;
  double factor = 1;
};

struct Commit {
  Version version = 0;
};

// What step `step` will be made of, if nothing comes between: a shard may make its blocks of the next version before it
// is decided. No parts: nothing is foreseen of this step any more.
struct Forecast {
  struct Part {
    GradientId gradient;
    double weight = 1;
    bool operator==(const Part&) const = default;
  };
  Version step = 0;
  std::vector<Part> parts;  // in replica order
  double rate = 1;
  bool operator==(const Forecast&) const = default;
};

// Frames of older lives are refused from now on.
struct Fence {
  Life life;
};

using Message = std::variant<Hello, Assign, Done, Settled, Turned, Push, Pull, Parameters, Report, Measured, Reduced,
                             Record, Scale, Commit, Fence, PartSaved, Forecast>;

// Who a message goes to or comes from.
struct Address {
  enum class Role : std::uint8_t { sequencer, shard, replica };
  Role role = Role::sequencer;
  std::uint32_t id = 0;
  auto operator<=>(const Address&) const = default;
};
inline constexpr Address kSequencer{Address::Role::sequencer, 0};
inline constexpr Address shard_at(ShardId id) { return {Address::Role::shard, id}; }
inline constexpr Address replica_at(ReplicaId id) { return {Address::Role::replica, id}; }

}  // namespace yoke::wire
