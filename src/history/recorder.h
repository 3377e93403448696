// Keeps what happened, in order: in memory, or in a file. A driver without a recorder pays one test of a pointer an
// event.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/effects.h"
#include "history/event.h"
#include "yoke/error.h"

namespace yoke::history {

class Recorder {
 public:
  Recorder() = default;
  ~Recorder();  // flushes
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // From now on into this file (history_file.h has the format), with what there is already, and no longer in memory. A
  // file of that name is overwritten. At most once.
  Status stream_to(const std::string& file);
  // Hands all that was added to the system: from then on it outlives this process, however that ends. It also happens
  // by itself whenever enough has come together. A process whose messages can outlive it flushes before it sends them:
  // else others have seen the consequences of what nobody recorded.
  //
  // Once something could not be written, nothing more is, and every call says why. From any thread; nothing to do in
  // memory.
  Status flush();

  // From any thread; Resumed only from the one that add_effect is called from for the sequencer.
  void add(Time at, What what);
  // What can be read off an effect of a state machine: who joined and who was struck off, assignments, records,
  // commits, publications, checkpoints, the end. The driver itself adds the rest: the terms, Resumed, Left before it
  // hands over a Down, and what became of payloads and parameters.
  void add_effect(Time at, const wire::Address& actor, const core::Effect& effect);

  // Those in memory: none once they go to a file.
  std::vector<Event> events() const;

 private:
  std::mutex writing_;  // taken before the other: who has it writes, and the others can still add
  std::string outgoing_;

  mutable std::mutex mutex_;
  std::vector<Event> events_;
  std::string buffer_;  // lines that are not in the file yet
  std::string name_;
  int file_ = -1;  // changes under both
  Status status_;

  std::uint64_t next_record_ = 0;  // records are sent to every shard, and again after a reset: kept once
  wire::Version committed_ = 0;    // the same for commits
  std::set<wire::Life> joined_;    // and for fences
};

}  // namespace yoke::history
