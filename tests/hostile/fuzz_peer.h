// One connection of the sequence fuzzer: a peer that knows the protocol, and keeps to it as often as not.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "security/credentials.h"
#include "transport/address.h"
#include "transport/arena.h"
#include "transport/stream.h"
#include "wire/frame.h"
#include "wire/job.h"

namespace yoke::hostile {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t any() { return engine_(); }
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

// A few bits, a few bytes, an end, or a number that is too large, somewhere.
void damage(Random& random, std::string& bytes);

// What the peers of a sequence agree on, when they agree.
struct Job {
  Strategy strategy = Strategy::sync;
  std::uint32_t replicas = 1;
  std::uint64_t samples = 0;  // of the data; 0: it has no size
};

inline constexpr std::uint32_t kMostPeers = 6;  // of a sequence, numbered from 0

class FuzzPeer {
 public:
  FuzzPeer(Random& random, transport::Address address, security::Credentials credentials, wire::Identity identity,
           const Job& job);

  // Comes (again), and shakes hands, rightly or not. Whether it is known now is the server's decision.
  void connect();
  // Says something: what comes next, or something else, whole or damaged.
  void act();

  bool known() const { return known_; }
  std::uint64_t dialled() const { return dialled_; }
  std::uint64_t frames() const { return frames_; }
  std::uint64_t applied() const { return applied_; }

 private:
  void shake_hands();
  wire::JobMessage something();
  std::string payload_for(const wire::JobMessage& message);
  void say(const wire::JobMessage& message);
  void say_frame(wire::FrameHead head, std::string control, std::string payload);
  void show_region();
  void write(const std::string& bytes, int descriptor = -1);
  void listen();
  void understand(const std::string& control);
  void leave();

  Random& random_;
  const transport::Address address_;
  const security::Credentials credentials_;
  wire::Identity identity_;
  const Job job_;
  const std::uint64_t odds_;  // it does something odd once in so many times
  std::unique_ptr<transport::Stream> stream_;
  bool known_ = false, was_known_ = false;  // now; the last time it came
  std::string heard_;
  std::size_t script_ = 0;       // how far it is in what a good replica says
  std::uint64_t sequence_ = 0;   // of its payloads
  wire::GradientId assigned_{};  // what the server wants of it
  wire::Version step_ = 0;       // and on which version
  std::uint64_t applied_ = 0;    // of its gradients
  std::shared_ptr<transport::Arena> arena_;
  std::shared_ptr<std::byte> shared_;
  std::uint64_t dialled_ = 0, frames_ = 0;
};

}  // namespace yoke::hostile
