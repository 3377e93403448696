#include "core/forming.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/planted.h"

namespace yoke::core {
namespace {

// Where each slice of one version is, by shard: the place of a caller.
using Sources = std::map<wire::ShardId, std::uint32_t>;

struct Found {
  std::uint32_t shards = 1;
  std::map<wire::Version, Sources> versions;
  std::map<wire::Version, std::optional<wire::Standing>> standings;
};

// What the callers have of one view, by network.
std::map<std::uint32_t, Found> holdings_of(std::uint64_t view, const std::vector<Caller>& callers) {
  std::map<std::uint32_t, Found> networks;
  for (std::uint32_t place = 0; place < callers.size(); ++place)
    for (const auto& holding : callers[place].holdings) {
      if (holding.view != view) continue;
      auto& found = networks[holding.network];
      found.shards = holding.shards;
      found.versions[holding.version].emplace(holding.shard, place);
      found.standings[holding.version] = holding.standing;
    }
  return networks;
}

std::optional<wire::View::Network> newest_whole(const Found& found) {
  std::optional<wire::View::Network> newest;
  for (const auto& [version, sources] : found.versions) {
    if (sources.size() < found.shards || (newest && planted(Bug::form_from_an_older_version))) continue;
    const auto from = planted(Bug::take_the_standing_of_another_version) ? found.versions.begin()->first : version;
    newest = wire::View::Network{version, found.standings.at(from), {}, {}};
    for (const auto& [shard, place] : sources) newest->sources.push_back(place);
  }
  return newest;
}

}  // namespace

bool may_go_on(const Attendance& attendance) {
  std::size_t here = 0, unknown = 0;
  for (const auto replica : attendance.former) {
    // Who comes with nothing is new: he neither speaks for the view nor goes on by himself.
    const auto caller = std::find_if(attendance.here.begin(), attendance.here.end(),
                                     [&](const auto& one) { return one.seat.replica == replica; });
    if (caller != attendance.here.end())
      here += !caller->holdings.empty();
    else if (!attendance.dead.contains(replica))
      ++unknown;
  }
  const bool first = std::any_of(attendance.here.begin(), attendance.here.end(), [&](const auto& caller) {
    return !attendance.former.empty() && caller.seat.replica == attendance.former.front();
  });
  return here > unknown || (here == unknown && first);
}

Result<wire::View> form(const Attendance& attendance) {
  wire::View view;
  // Those that were there come first, in their order: so the first stays what it is as long as it is there.
  std::vector<Caller> callers;
  const auto take = [&](bool survivors) {
    for (const auto replica : attendance.former)
      for (const auto& caller : attendance.here)
        if (survivors && caller.seat.replica == replica && !caller.holdings.empty()) callers.push_back(caller);
    if (survivors) return;
    for (const auto& caller : attendance.here)
      if (std::none_of(callers.begin(), callers.end(),
                       [&](const auto& other) { return other.seat.replica == caller.seat.replica; }))
        callers.push_back(caller);
  };
  take(true);
  view.survivors = static_cast<std::uint32_t>(callers.size());
  if (callers.empty())
    return Error{Code::peer_down, "a replica was lost before the parameters were there, and nobody has any"};
  take(false);
  for (const auto& caller : callers) view.members.push_back(caller.seat);
  callers.resize(view.survivors);

  std::set<std::uint64_t> views;
  for (const auto& caller : callers)
    for (const auto& holding : caller.holdings) views.insert(holding.view);
  for (auto number = views.rbegin(); number != views.rend() && view.networks.empty(); ++number) {
    view.from = *number;
    for (const auto& [index, found] : holdings_of(*number, callers)) {
      auto network = newest_whole(found);
      if (!network || index != view.networks.size()) {
        view.networks.clear();
        break;
      }
      view.networks.push_back(std::move(*network));
    }
  }
  if (view.networks.empty())
    return Error{Code::peer_down,
                 "too many were lost at once: a slice of the parameters was lost with both replicas that held it"};
  view.number = std::max(attendance.view, *views.rbegin()) + 1;
  const bool chief_stays = std::any_of(view.members.begin(), view.members.begin() + view.survivors,
                                       [&](const auto& seat) { return seat.replica == attendance.chief; });
  view.chief = chief_stays ? attendance.chief : view.members.front().replica;
  return view;
}

}  // namespace yoke::core
