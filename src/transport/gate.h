// Whoever has connected and is not known yet. Such a newcomer costs a descriptor and less than a kilobyte until its
// first byte is here, a kilobyte of what it sends (and what TLS needs for itself) after that, and five seconds at most.
//
// There are only so many newcomers at once: one more, and the one that has dallied longest goes, so that those who mean
// it get in however many idle ones there are. A source from which too many have failed is shut out for a while.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>

#include "transport/address.h"
#include "transport/connection.h"
#include "transport/greeting.h"

namespace yoke::transport {

class Gate {
 public:
  // Settings::say hears of the refused. Lives in the loop's thread.
  Gate(Loop& loop, Address address, const Settings& settings, Handler& handler);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Takes the descriptor over. `source`: where it comes from, without the port.
  void arrive(int fd, const std::string& source);

 private:
  struct Newcomer {
    int fd = -1;  // until there is a greeting
    std::string source;
    Time since{};
    std::unique_ptr<Greeting> greeting;  // from its first byte on
  };
  using Place = std::list<std::unique_ptr<Newcomer>>::iterator;
  struct Source {
    Time since{};
    std::size_t failures = 0;
  };

  void on_ready(Place place);
  void let_in(Place place);
  void turn_away(Place place, const std::string& why, bool its_fault = true);
  void count_failure(const std::string& source);
  bool shut_out(const std::string& source);
  void look();
  int fd_of(const Newcomer& newcomer) const;
  void say(const std::string& text);

  Loop& loop_;
  const Address address_;
  const Settings& settings_;
  Handler& handler_;
  const GateLimits limits_;
  std::list<std::unique_ptr<Newcomer>> newcomers_;  // the longest there first
  std::map<std::string, Source> sources_;
  const std::shared_ptr<std::atomic<std::size_t>> inside_ = std::make_shared<std::atomic<std::size_t>>(0);
  Loop::Timer timer_ = 0;
  Time words_since_{};
  std::size_t words_ = 0;
};

}  // namespace yoke::transport
