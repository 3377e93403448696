// The driver's book of the payloads that shards hold: whose each really is, and whether it is sound. A shard must let
// go of each exactly once, and not use it afterwards.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "wire/messages.h"

namespace yoke::sim {

class Payloads {
 public:
  struct Payload {
    wire::GradientId gradient;
    wire::BlockId block = 0;
    wire::ShardId shard = 0;
    bool sound = true;
    bool released = false;
  };

  // A payload has arrived; the name it gets.
  wire::Ticket arrive(Payload payload);
  // The payload, about to be read by `shard`.
  const Payload& use(wire::Ticket ticket, wire::ShardId shard);
  void release(wire::Ticket ticket, wire::ShardId shard);
  // The shards are gone, and with them all they had.
  void forget() { payloads_.clear(); }
  // Every payload should have been let go of by now.
  void close();

  const std::vector<std::string>& violations() const { return violations_; }

 private:
  Payload& find(wire::Ticket ticket, wire::ShardId shard, const char* deed);

  std::map<wire::Ticket, Payload> payloads_;
  wire::Ticket next_ = 1;
  std::vector<std::string> violations_;
};

}  // namespace yoke::sim
