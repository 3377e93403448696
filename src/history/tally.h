// What has been decided so far, counted again from the events alone: the checker's own books.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "history/event.h"

namespace yoke::history {

using Findings = std::vector<std::string>;

std::string name(const wire::GradientId& gradient);

struct Tally {
  struct Member {
    wire::Incarnation incarnation = 0;
    bool alive = false;
    std::uint64_t settled = 0;  // gradients settled, those of the warm-up apart; newcomers are level with the slowest
    bool warming = false;       // what it works on was assigned in the warm-up
  };

  Terms terms;
  std::map<wire::ReplicaId, Member> members;
  std::map<wire::GradientId, wire::Assign> open;  // assigned and not decided
  std::vector<const wire::Record*> updates;       // by step; null: made before this history begins
  wire::Version committed = 0;
  std::map<std::uint32_t, std::uint64_t> counted;  // epoch -> samples in applied gradients
  double samples_applied = 0;
  std::uint32_t newest_epoch = 0;  // that a range was handed out of

  // Takes in an event. Keeps pointers into it.
  void on(const Event& event);

  std::uint32_t count_alive() const;
  bool alive(const wire::Life& life) const;
  // Epochs counted in full, from the first on.
  std::uint32_t epochs_counted() const;
  bool warming_up() const;
  // Replicas whose samples should make the next synchronous update, and those that should take part in it.
  std::uint32_t contributors() const;
  std::uint32_t wanted() const { return terms.options.everybody ? terms.options.replicas : contributors(); }
  // What the schedule says about the next update.
  double rate() const;

 private:
  void resume(const Resumed& resumed);
  void join(const wire::Life& life);
  void leave(const wire::Life& life);
  void decide(const wire::Record& record);
  void commit(wire::Version version);
  void settle(const wire::GradientId& gradient);
};

}  // namespace yoke::history
