// Keeps what happened, in order. A driver without a recorder pays one test of a pointer an event.
#pragma once

#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "core/effects.h"
#include "history/event.h"

namespace yoke::history {

class Recorder {
 public:
  // From any thread.
  void add(Time at, What what);
  // What can be read off an effect of a state machine: who joined and who was struck off, assignments, records,
  // commits, publications, the end. The driver itself adds the rest: the terms, Left before it hands over a Down, and
  // what became of payloads and parameters.
  void add_effect(Time at, const wire::Address& actor, const core::Effect& effect);

  std::vector<Event> events() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Event> events_;
  std::uint64_t next_record_ = 0;  // records are sent to every shard, and again after a reset: kept once
  wire::Version committed_ = 0;    // the same for commits
  std::set<wire::Life> joined_;    // and for fences
};

}  // namespace yoke::history
