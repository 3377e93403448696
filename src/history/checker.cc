#include "history/checker.h"

#include "history/rules.h"

namespace yoke::history {
namespace {
constexpr std::size_t kEnough = 50;
}

std::vector<std::string> check(std::span<const Event> events) {
  Findings out;
  if (events.empty() || !std::holds_alternative<Terms>(events.front().what)) {
    out.push_back("the history does not begin with its terms");
    return out;
  }
  Tally tally;
  const Payloads payloads(events);
  FateRules fates(tally, out);
  UpdateRules updates(tally, payloads, out);
  ShardRules shards(tally, payloads, out);
  SampleRules samples(tally, out);
  for (std::size_t at = 0; at < events.size() && out.size() < kEnough; ++at) {
    fates.on(events[at]);
    updates.on(events[at], at);
    shards.on(events[at], at);
    samples.on(events[at]);
    tally.on(events[at]);
  }
  if (out.size() >= kEnough) return out;
  fates.end();
  shards.end();
  samples.end();
  return out;
}

}  // namespace yoke::history
