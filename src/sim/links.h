// The connections between machines. When one breaks, everything under way on it is lost in both directions; each end
// notices in its own time, what it sends until then is lost too, and what the other sends arrives only afterwards.
#pragma once

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "wire/messages.h"

namespace yoke::sim {

struct Link {
  std::uint64_t generation = 0;   // a message belongs to the one it was sent in
  std::uint64_t lost_before = 0;  // messages of generations before this are lost for certain
  Time up{};                      // nothing arrives before
  std::array<bool, 2> blind{};    // by end: it has not noticed the break
  std::array<Time, 2> last{};     // by sender: when its latest message arrives
};

class Links {
 public:
  using Ends = std::pair<wire::Address, wire::Address>;

  Link& between(const wire::Address& a, const wire::Address& b) { return links_[ends(a, b)]; }
  static std::size_t end_of(const wire::Address& self, const wire::Address& peer) { return self < peer ? 0 : 1; }
  static Ends ends(const wire::Address& a, const wire::Address& b) { return a < b ? Ends{a, b} : Ends{b, a}; }

  // Every connection of `self` is a new one from now on; what was under way on the old may yet arrive.
  void renew(const wire::Address& self, Time now) {
    for (auto& [pair, link] : links_)
      if (pair.first == self || pair.second == self)
        link = {link.generation + 1, link.lost_before, now, {}, {now, now}};
  }
  // Those that have carried something, in order.
  std::vector<Ends> all() const {
    std::vector<Ends> out;
    for (const auto& [pair, link] : links_) out.push_back(pair);
    return out;
  }

 private:
  std::map<Ends, Link> links_;
};

}  // namespace yoke::sim
