// What happened in a run, as far as the promises speak of it. Written by whoever drives the state machines, real
// threads and the simulator alike; read by the checker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "core/sequencer.h"
#include "wire/messages.h"

namespace yoke::history {

// The terms of the run: the first event.
struct Terms {
  core::SequencerOptions options;
  std::vector<std::uint32_t> shard_blocks;  // how many blocks each shard hosts
  std::uint64_t samples = 0;                // an epoch; 0: no ledger
  std::uint32_t batch = 1;
};

// The sequencer took this life in; a former life of the same replica is over with it. Saying it again changes nothing.
struct Joined {
  wire::Life life;
};

// The sequencer was told that this life is over, or struck it off. Of a life that is not in, it means nothing.
struct Left {
  wire::Life life;
  std::string reason;
};

// The sequencer gave out work.
struct Assigned {
  wire::Assign assign;
};

// The replica installed this version of a shard's parameters for this gradient: the truth about what it computed on.
struct Installed {
  wire::GradientId gradient;
  wire::ShardId shard = 0;
  wire::Version version = 0;
};

// A payload was examined. Only those that were sound may be applied.
struct Examined {
  wire::Ticket ticket = 0;
  wire::GradientId gradient;  // whose it really is, by the driver's own books
  wire::BlockId block = 0;
  bool ok = true;
};

struct Decided {
  wire::Record record;
};

// A shard made a block's next version, out of these payloads: by the driver's own books, not by the record.
struct Made {
  wire::ShardId shard = 0;
  wire::BlockId block = 0;
  wire::Version version = 0;
  struct Used {
    wire::Ticket ticket = 0;
    wire::GradientId gradient;
    double weight = 1;
  };
  std::vector<Used> used;
  double rate = 1;
  double scale = 1;
};

// Every shard has made this version, by the sequencer's word.
struct Committed {
  wire::Version version = 0;
};

// A shard shows this version to the replicas from now on.
struct Published {
  wire::ShardId shard = 0;
  wire::Version version = 0;
};

// A replica learnt what became of its gradient.
struct Told {
  wire::Verdict verdict;
};

// The sequencer was told to end before the epochs or steps were over.
struct Stopped {
  std::string reason;
};

// Training was over, by the sequencer's word.
struct Finished {
  wire::Version version = 0;
};

// A shard held what it had in this version, for this checkpoint.
struct Captured {
  wire::ShardId shard = 0;
  std::uint64_t token = 0;
  wire::Version version = 0;
};

// The checkpoint is whole and can be seen, by the sequencer's word.
struct Announced {
  std::uint64_t token = 0;
  wire::Version version = 0;
};

// The job goes on from a checkpoint, or from the beginning when there is none: the sequencer and the shards are new,
// and nobody is in. Right after the terms: what came before is not in this history. Later: the whole job was lost, and
// what was decided from the standing's version on never happened. Or it was formed anew: it goes on from what those
// that are left had in memory, and nothing that was committed is lost.
struct Resumed {
  core::Standing standing;
  std::uint32_t passed_over = 0;  // later checkpoints that are damaged
  std::optional<Terms> terms;     // from now on; none: as they were
  bool formed = false;            // from memory
};

using What = std::variant<Terms, Joined, Left, Assigned, Installed, Examined, Decided, Made, Committed, Published, Told,
                          Stopped, Finished, Captured, Announced, Resumed>;

struct Event {
  Time at{};
  What what;
};

inline bool is_terms(const Event& event) { return std::holds_alternative<Terms>(event.what); }

}  // namespace yoke::history
