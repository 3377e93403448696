// How connections come about: one side listens, the other dials. An address that other hosts reach is neither listened
// on nor dialled without TLS and a secret, unless the credentials say that it is meant to be so.
#pragma once

#include <memory>
#include <string>

#include "transport/address.h"
#include "transport/connection.h"
#include "transport/gate.h"

namespace yoke::transport {

// Accepts connections on an address, each of which becomes `handler`'s. Made, used and destroyed in the loop's thread,
// or while the loop does not run.
class Listener {
 public:
  // Unix sockets: only their owner may connect. A socket file that nobody listens on any more is replaced.
  static Result<std::unique_ptr<Listener>> open(Loop& loop, const Address& address, const Settings& settings,
                                                Handler& handler);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Where it really listens: with the port that was free.
  const Address& address() const { return address_; }
  // Whoever comes from now on hears this introduction.
  void introduce_as(std::string introduction) { settings_.introduction = std::move(introduction); }

 private:
  Listener(Loop& loop, int fd, Address address, Settings settings, Handler& handler);
  void listen_on();
  void accept_some();

  Loop& loop_;
  int fd_;
  Address address_;
  Settings settings_;
  Gate gate_;
  Loop::Timer pause_ = 0;
};

// Connects, trying again while nobody listens there yet, until the deadline. Blocks the calling thread, which is not
// the loop's unless that does not run yet. The descriptor is for `adopt`.
Result<int> dial(const Address& address, const security::Credentials& credentials, Duration deadline);

// The same, trying once. Code::missing: for certain nobody listens there, the host has said so; anything else: who
// listens there may live.
Result<int> dial_once(const Address& address, const security::Credentials& credentials, Duration deadline);

// Makes a connection of a descriptor from `dial`; in the loop's thread, or while it does not run.
ConnectionPtr adopt(Loop& loop, int fd, const Address& address, const Settings& settings, Handler& handler);

}  // namespace yoke::transport
