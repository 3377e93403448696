// What two servers say to each other about one run of one container, as a connection of its own. It shares the one
// connection between the two with all other runs, so that what is said about any of them arrives in the order in which
// it was said; and a run that begins dials nobody.
#pragma once

#include <cstdint>
#include <string>

#include "transport/connection.h"
#include "wire/job.h"

namespace yoke::cluster {

class Channel : public transport::Connection {
 public:
  // `handler` hears of its end, and outlives it.
  Channel(transport::Loop& loop, transport::ConnectionPtr link, std::string container, std::uint64_t run,
          transport::Handler& handler);

  // Servers send each other no payload.
  void send(std::string control, transport::Bytes payload = {}, Completion done = {}) override;
  void grant(std::uint64_t) override {}
  void close(const std::string& why) override;
  void finish(const std::string& why) override { close(why); }

  // The other side has ended it, or the link has gone.
  void end(const transport::Failure& failure);

  const transport::ConnectionPtr& link() const { return link_; }
  const std::string& container() const { return container_; }
  std::uint64_t run() const { return run_; }

 private:
  void say(wire::Enclosed::Kind kind, std::string said);

  transport::Loop& loop_;
  const transport::ConnectionPtr link_;
  const std::string container_;
  const std::uint64_t run_;
  transport::Handler& handler_;
  bool down_ = false;
};

}  // namespace yoke::cluster
