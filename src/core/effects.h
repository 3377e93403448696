// What goes into the state machines and what comes out. A machine is told of an event and the time, and answers with
// effects; the driver carries them out. An effect is done when a later event says so, never before: that is how a crash
// in the middle of a reduce can be simulated, and how 500 replicas run without a byte of payload.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
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

// Reduce is done: the block's next version is written.
struct BlockReduced {
  BlockId block = 0;
  Version version = 0;
};

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

using Event = std::variant<Received, Verified, BlockMeasured, BlockReduced, Reset, Down, Stop>;

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
// over. Answer: BlockReduced.
struct Reduce {
  BlockId block = 0;
  Version step = 0;
  std::vector<Share> shares;
  double rate = 1;
  double scale = 1;
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

using Effect = std::variant<Send, Verify, Measure, Reduce, Publish, Release, Say>;
using Effects = std::vector<Effect>;

}  // namespace yoke::core
