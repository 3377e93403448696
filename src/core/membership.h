// Who is in the job, and in which life. Of two lives of one replica only the later counts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "wire/messages.h"

namespace yoke::core {

struct JoinDecision {
  enum class Kind { joined, again, refused } kind = Kind::joined;
  std::string reason;
};

class Membership {
 public:
  explicit Membership(std::uint32_t expected) : expected_(expected) {}

  // A replica says hello. Joined: a new life (a former one is over); again: the life that is in already.
  JoinDecision hello(wire::Life life);
  // The life is over, and with it those before. False when that was known, or a later one has joined.
  bool down(wire::Life life, std::string reason);

  // True from the time when every expected replica has joined or is known to be gone.
  bool complete() const { return members_.size() >= expected_; }
  bool alive(wire::Life life) const;
  bool alive(wire::ReplicaId replica) const;
  std::uint32_t count_alive() const;
  std::vector<wire::Life> all_alive() const;  // by replica
  const std::string& why_down(wire::ReplicaId replica) const;

 private:
  struct Member {
    wire::Incarnation incarnation = 0;
    bool alive = false;
    std::string why_down;
  };
  std::uint32_t expected_;
  std::map<wire::ReplicaId, Member> members_;
};

}  // namespace yoke::core
