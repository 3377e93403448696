#include <fmt/format.h>

#include <algorithm>

#include "sim/describe.h"
#include "sim/world.h"

namespace yoke::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

void World::transmit(const wire::Address& from, const wire::Address& to, const wire::Message& message) {
  auto& link = links_.between(from, to);
  const auto end = Links::end_of(from, to);
  ++outcome_.counts.messages;
  if (link.blind[end]) {
    trace([&] {
      return fmt::format("{} -> {}: lost, the link is broken: {}", describe(from), describe(to), describe(message));
    });
    return;
  }
  const int copies = !peace() && random_.chance(shape_.faults.duplicate) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    auto at = std::max(now_ + time_on_the_way(from, to), link.up);
    if (shape_.in_order && copy == 0) at = link.last[end] = std::max(at, link.last[end] + nanoseconds(1));
    queue_.add(at, [this, from, to, message, sent_in = link.generation] { arrive(from, to, message, sent_in); });
  }
}

Duration World::time_on_the_way(const wire::Address& from, const wire::Address& to) {
  auto time = random_.between(microseconds(50), microseconds(3000));
  if (!peace() && random_.chance(shape_.faults.straggle)) time *= random_.between(10, 300);
  if (shape_.slow_links == 0) return time;
  const auto& [a, b] = Links::ends(from, to);  // which links are slow is decided once and for all
  const auto number = [](const auto& end) { return static_cast<std::uint64_t>(end.role) << 32 | end.id; };
  Random of_link(mix(mix(outcome_.seed, number(a)), number(b)));
  if (of_link.chance(shape_.slow_links)) time *= of_link.between(2, 40);
  return time;
}

void World::arrive(const wire::Address& from, const wire::Address& to, const wire::Message& message,
                   std::uint64_t sent_in) {
  const auto& link = links_.between(from, to);
  const bool zombie = sent_in != link.generation;
  if (zombie && (sent_in < link.lost_before || !random_.chance(shape_.faults.zombie))) return;
  trace([&] {
    return fmt::format("{} -> {}: {}{}", describe(from), describe(to), describe(message),
                       zombie ? " (of the dead)" : "");
  });
  deliver(to, core::Received{from, message});
}

void World::break_link(const wire::Address& a, const wire::Address& b) {
  auto& link = links_.between(a, b);
  const auto generation = ++link.generation;
  link.lost_before = generation;
  link.blind = {true, true};
  ++outcome_.counts.resets;
  trace([&] { return fmt::format("the link between {} and {} breaks", describe(a), describe(b)); });
  for (const auto& [self, peer] : {std::pair{a, b}, std::pair{b, a}}) {
    const auto at = now_ + random_.between(microseconds(10), milliseconds(5));
    link.up = std::max(link.up, at + nanoseconds(1));
    queue_.add(at, [this, self = self, peer = peer, generation] {
      auto& broken = links_.between(self, peer);
      if (broken.generation != generation) return;  // broken again, or a new life's
      broken.blind[Links::end_of(self, peer)] = false;
      trace([&] { return fmt::format("{} notices that the link to {} was reset", describe(self), describe(peer)); });
      deliver(self, core::Reset{peer});
    });
  }
}

void World::break_links_until_peace() {
  if (shape_.faults.reset_every.count() == 0) return;
  after(random_.between(Duration(1), 2 * shape_.faults.reset_every), [this] {
    if (peace()) return;
    if (const auto all = links_.all(); !all.empty()) {
      const auto& [a, b] = all[random_.below(all.size())];
      break_link(a, b);
    }
    break_links_until_peace();
  });
}

}  // namespace yoke::sim
