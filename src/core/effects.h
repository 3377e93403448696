// What goes into the state machines and what comes out. A machine is told of an event and the time, and answers with
// effects; the driver carries them out. An effect is done when a later event says so, never before: that is how a crash
// in the middle of a reduce can be simulated, and how 500 replicas run without a byte of payload.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "core/standing.h"
#include "wire/messages.h"

namespace yoke::core {

using namespace wire;

// --- events ---

// A message arrived. `from` is what the transport vouches for.
struct Received {
  Address from;
  Message message;
};

// Verify is done.
struct Verified {
  Ticket ticket = 0;
  bool ok = true;
  double sum_squares = 0;
  std::string reason;  // when not ok
};

// Measure is done.
struct BlockMeasured {
  BlockId block = 0;
  Version step = 0;
  double sum_squares = 0;
};

// Reduce is done: the block's next version is written. Of a pass ahead: unless it came upon something that is not
// finite; then nothing was made.
struct BlockReduced {
  BlockId block = 0;
  Version version = 0;
  bool ok = true;
};

// Mirror or Fill is done: this version of the shard lies in a second place.
struct Mirrored {
  Version version = 0;
};

// To a shard: it has a backup from now on, which has nothing yet; or it has none any more.
struct BackupChanged {
  bool there = false;
};

// To a backup: a version has come from the primary: all of it, or the means to make it of the one before.
struct SliceCame {
  Version version = 0;
  std::optional<Standing> standing;
};
struct MeansCame {
  Version version = 0;
  std::optional<Standing> standing;
};
// To a backup: Follow is done, the version is made.
struct Followed {
  Version version = 0;
};
// To a backup: it has all that was told of.
struct FilledUp {};
// To a backup: the view is over, and what it has was said: from now on it takes nothing from the primary.
struct LaidDown {};

// The connection to a peer broke and is there again: what was under way is lost, in both directions.
struct Reset {
  Address peer;
};

// A replica's life is over, and why.
struct Down {
  Life life;
  std::string reason;
};

// Training is to end now: what is decided is committed, nothing more is decided.
struct Stop {
  std::string reason;
};

// A replica is to be taken out in good order: what it works on still counts, and it is told to go then.
struct Drain {
  ReplicaId replica = 0;
  std::string reason;
};

// To the sequencer: a checkpoint is to be taken of the first version that can be had and is not older than `at_least`.
struct TakeCheckpoint {
  std::uint64_t token = 0;  // its name; not 0, and never used before
  Version at_least = 0;
};

// To a shard: Capture is done, its part lies on the disk; or it failed.
struct Captured {
  std::uint64_t token = 0;
  bool ok = true;
  std::uint64_t sum = 0;  // of the file that lists the part's files
  std::string reason;     // when not ok
};

// To the sequencer: Seal is done, the checkpoint can be seen; or it failed.
struct Sealed {
  std::uint64_t token = 0;
  bool ok = true;
  std::string reason;  // when not ok
};

using Event =
    std::variant<Received, Verified, BlockMeasured, BlockReduced, Mirrored, BackupChanged, SliceCame, MeansCame,
                 Followed, FilledUp, LaidDown, Reset, Down, Stop, Drain, TakeCheckpoint, Captured, Sealed>;

// --- effects ---

struct Send {
  Address to;
  Message message;
};

// Is the payload whole and finite? Answer: Verified.
struct Verify {
  Ticket ticket = 0;
  BlockId block = 0;
};

// One gradient's share in a block. Ticket 0: absent there, counts as zero.
struct Share {
  GradientId gradient;
  Ticket ticket = 0;
  double weight = 1;
};

// The sum of squares of the shares' weighted sum. Answer: BlockMeasured.
struct Measure {
  BlockId block = 0;
  Version step = 0;
  std::vector<Share> shares;
};

// Make version `step + 1` of the block from version `step` and the shares, in the order given; no shares: carry it
// over. Answer: BlockReduced. `ahead`: it is not decided yet that this is what the version is made of, and nobody has
// looked at the shares: are they finite?
struct Reduce {
  BlockId block = 0;
  Version step = 0;
  std::vector<Share> shares;
  double rate = 1;
  double scale = 1;
  bool ahead = false;
};

// What was made ahead is what was decided.
struct Keep {
  Reduce made;
};
// What was made ahead is not: all of the next version is made again, elsewhere, for somebody may be reading it.
struct Unmake {};

// The block's next version, as it will probably be: it may travel to these already.
struct Preview {
  BlockId block = 0;
  Version version = 0;
  std::vector<Life> lives;
};

// A shard's, where each slice is held twice: bring what was made to its twin, or backup. Answer: Mirrored.
struct Mirror {
  Version version = 0;
};

// A shard's, to a backup that has nothing: bring it the version that is shown, all of it. Answer: Mirrored.
struct Fill {
  Version version = 0;
};
// And: it has all that was told of.
struct TellFilled {};

// A backup's: make this version of the one before and the means that have come. Answer: Followed.
struct Follow {
  Version version = 0;
};
// A backup's: the version is made and held; the primary may tell of it.
struct Acknowledge {
  Version version = 0;
};

// Version `version` of this shard's blocks is what replicas see from now on.
struct Publish {
  Version version = 0;
};

// The payload is no longer needed.
struct Release {
  Ticket ticket = 0;
};

// To be read by a person.
struct Say {
  std::string text;
};

// A shard's: hold what its blocks and the optimizer are in this version, which is the present one, and bring it to the
// disk while training goes on. Answer: Captured.
struct Capture {
  std::uint64_t token = 0;
  Version version = 0;
};

// The sequencer's: every part of the checkpoint lies on the disk. Write the rest of it and make it visible. Answer:
// Sealed.
struct Seal {
  std::uint64_t token = 0;
  Standing standing;
  std::vector<std::uint64_t> sums;  // by shard, as Captured had them
};

// The sequencer's: the checkpoint failed, and why. What there is of it can go.
struct Discard {
  std::uint64_t token = 0;
  std::string reason;
};

// The sequencer's: the checkpoint is whole and can be seen; whoever asked for it may be told.
struct Announce {
  std::uint64_t token = 0;
  Version version = 0;
};

using Effect = std::variant<Send, Verify, Measure, Reduce, Keep, Unmake, Preview, Mirror, Fill, TellFilled, Follow,
                            Acknowledge, Publish, Release, Say, Capture, Seal, Discard, Announce>;
using Effects = std::vector<Effect>;

}  // namespace yoke::core
