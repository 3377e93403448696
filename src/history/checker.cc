#include "history/checker.h"

#include <algorithm>

#include "history/rules.h"

namespace yoke::history {
namespace {

constexpr std::size_t kEnough = 50;

}  // namespace

std::vector<std::string> check(std::span<const Event> events) {
  Findings out;
  if (events.empty() || !is_terms(events.front())) {
    out.push_back("the history does not begin with its terms");
    return out;
  }
  if (std::any_of(events.begin() + 1, events.end(), is_terms)) {
    out.push_back("the history has more than one set of terms: its parts are not of one job");
    return out;
  }
  Tally tally;
  const Payloads payloads(events);
  FateRules fates(tally, out);
  UpdateRules updates(tally, payloads, out);
  ShardRules shards(tally, payloads, out);
  SampleRules samples(tally, out);
  CheckpointRules checkpoints(tally, out);
  FormingRules forming(tally, out);
  for (std::size_t at = 0; at < events.size() && out.size() < kEnough; ++at) {
    fates.on(events[at]);
    updates.on(events[at], at);
    shards.on(events[at], at);
    samples.on(events[at], at);
    checkpoints.on(events[at], at);
    forming.on(events[at]);
    tally.on(events[at]);
  }
  if (out.size() >= kEnough) return out;
  fates.end();
  shards.end();
  samples.end();
  return out;
}

}  // namespace yoke::history
