// One connection between two processes (or two parts of one), as both ends see it, whatever carries it.
//
// - A send never blocks and completes exactly once: with true when its bytes may be used again, with false when the
//   connection broke before that was known. Completion says nothing about delivery. After a false the other side may
//   still be reading the bytes where they lie (inproc, shm): do not write over them, let go of `keep`. It is held until
//   the reader is done (inproc), or as long as silence may last, by when it must have heard of the end (shm).
// - The receiver says where a payload goes before it moves.
// - Credits: a side sends no more payload than the other has granted and not given back, so a slow receiver makes no
//   memory grow; what waits, waits at the sender, uncopied.
// - A failure belongs to one connection. Every pending send completes with false, a message that had been announced and
//   did not come whole is lost, then the handler hears of it, once, as the last thing; nothing else is touched by it.
// - Both sides send heartbeats with a counter of their progress. One that is silent for too long is down.
//
// Everything happens in the loop's thread, callbacks included, unless it says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/time.h"
#include "security/credentials.h"
#include "transport/arena.h"
#include "transport/loop.h"
#include "yoke/error.h"

namespace yoke::transport {

class Connection;

enum class Down {
  closed,          // the other side closed it or ended
  timed_out,       // silent, or unreachable, for too long
  protocol_error,  // it sent what it may not
  local,           // this side closed it
};

// Why a connection is down, in words that name the peer.
struct Failure {
  Down kind = Down::closed;
  std::string text;
};

// Bytes and who owns them. A received payload is given back to its sender (its credit, and in shared memory the bytes)
// when the last `keep` goes, in whatever thread.
struct Bytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keep;
};

struct Incoming {
  std::string control;
  std::size_t payload = 0;  // bytes
  std::uint64_t incarnation = 0;
};

// Where a payload goes: into these bytes, as many as it has, which stay valid until the message or its loss; or, when
// empty, wherever it is cheapest (where it lies in shared memory, else memory of the connection's).
struct Sink {
  std::span<std::byte> into;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // The other side is known: it has proven that it has the secret, and introduced itself with these words.
  virtual void on_up(Connection& connection, const std::string& introduction) = 0;
  // A message with a payload is announced. An error closes the connection and is told to nobody but this side.
  virtual Result<Sink> on_announced(Connection& connection, const Incoming& message) = 0;
  // A message is here, whole and checked.
  virtual void on_message(Connection& connection, Incoming message, Bytes payload) = 0;
  // A message that was announced did not come whole; `on_down` follows.
  virtual void on_lost(Connection&, const Incoming&) {}
  // The last thing that is heard of a connection.
  virtual void on_down(Connection& connection, const Failure& failure) = 0;
};

// What whoever listens puts up with (gate.h).
struct GateLimits {
  std::size_t newcomers = 256;                 // who are not known yet, at once
  std::size_t connections = 8192;              // of those that have got in
  std::size_t failures = 200;                  // of one source ...
  Duration within = std::chrono::seconds(10);  // ... in this time: it is shut out for the rest of it
  std::size_t sources = 1024;                  // whose failures are remembered
  std::size_t words = 20;                      // about refusals, in that time; the others are counted
};

// What the connections of one process have in common.
struct Settings {
  std::string introduction;
  std::uint64_t incarnation = 0;
  std::shared_ptr<Arena> arena;                          // shared memory: payloads that lie in it travel by name
  const std::atomic<std::uint64_t>* progress = nullptr;  // told with every heartbeat
  std::atomic<std::uint64_t>* clock = nullptr;           // the latest time seen of anybody, in nanoseconds
  Duration heartbeat = std::chrono::milliseconds(750);   // a path that is cut while nothing is under way shows then
  Duration silence = std::chrono::seconds(8);
  Duration handshake = std::chrono::seconds(5);  // until the other side must have proven who it is
  security::Credentials credentials;
  // Who listens: the secret that goes with an introduction, where not all have the same; and what it puts up with.
  std::function<Result<security::Secret::Ptr>(const std::string& introduction)> secret_for;
  GateLimits limits;
  std::function<void(const std::string&)> say;  // who was refused, and why
};

// What each side may send before more is granted, and how much may wait at a sender whose peer does not read.
inline constexpr std::uint64_t kFirstCredit = 4u << 20;
inline constexpr std::size_t kMostWaiting = 1u << 20;         // frames
inline constexpr std::size_t kMostWaitingBytes = 256u << 20;  // of control; payload is not copied

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Completion = std::function<void(bool ok)>;
  virtual ~Connection() = default;

  virtual void send(std::string control, Bytes payload = {}, Completion done = {}) = 0;
  // The other side may send so many bytes of payload more before they are given back.
  virtual void grant(std::uint64_t bytes) = 0;
  // Closes at once; pending sends complete with false.
  virtual void close(const std::string& why) = 0;
  // Closes when all that was sent before has gone out.
  virtual void finish(const std::string& why) = 0;

  // Whoever listens for several jobs knows only in `on_up` whose it is: from then on payloads travel through the memory
  // of that job alone, and heartbeats tell its progress. Elsewhere the settings have said so already.
  virtual void belong_to(std::shared_ptr<Arena>, std::shared_ptr<const std::atomic<std::uint64_t>>) {}

  // Whom it leads to, in words, for messages; the address until the handler knows better.
  const std::string& peer() const { return peer_; }
  void call_peer(std::string name) { peer_ = std::move(name); }
  // What the handler remembers with it.
  std::shared_ptr<void> note;

  // Its certificate, where it has shown one, is that of a server.
  bool peer_may_serve() const { return peer_may_serve_; }

  std::uint64_t peer_progress() const { return peer_progress_.load(std::memory_order_relaxed); }  // from any thread
  Time last_heard() const { return last_heard_; }

 protected:
  std::string peer_;
  bool peer_may_serve_ = true;
  std::atomic<std::uint64_t> peer_progress_{0};
  Time last_heard_{};
};

using ConnectionPtr = std::shared_ptr<Connection>;

}  // namespace yoke::transport
