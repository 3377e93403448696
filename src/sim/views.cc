// Where every replica's process hosts a shard: a process is lost with all of that, and those that are left form the job
// anew from what they have. One that comes back is a newcomer.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/world.h"

namespace yoke::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// --- each slice is held twice ---

World::Slice World::slice_of(wire::ShardId shard, wire::Version version,
                             const std::optional<core::Standing>& standing) const {
  Slice slice{{view_, 0, shard, shape_.plan.shards(), version, standing}, false, {}};
  for (const auto block : shape_.plan.of_shard[shard]) slice.values[block] = values_.at(version, block);
  return slice;
}

void World::mirror(wire::ShardId shard, const core::Mirror& effect) {
  auto slice = slice_of(shard, effect.version, next_standings_[shard]);
  slice.twin = true;
  const auto self = wire::shard_at(shard), twin = wire::shard_at((shard + 1) % shape_.plan.shards());
  threaten(members_[shard], milliseconds(8));
  after(time_on_the_way(self, twin) + while_working(4), [this, self, twin, slice = std::move(slice)] {
    const auto version = slice.holding.version;
    trace([&] { return fmt::format("the twin of shard {} has version {}", self.id, version); });
    keep(processes_[members_[twin.id]], slice);
    const int copies = !peace() && random_.chance(shape_.faults.duplicate) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy)
      after(time_on_the_way(twin, self), [this, self, version] { deliver(self, core::Mirrored{version}); });
  });
}

void World::keep(Process& process, Slice slice) {
  if (process.kept.size() == 2) process.kept.erase(process.kept.begin());
  process.kept.push_back(std::move(slice));
}

void World::learn_committed(Process& process, wire::Version version) {
  if (process.kept.size() == 2 && process.kept.back().holding.version <= version)
    process.kept.erase(process.kept.begin());
  if (version > view_from_) process.former.clear();
}

void World::shown(wire::ShardId shard) {
  standings_[shard] = next_standings_[shard];
  processes_[members_[shard]].former.clear();
  threaten(members_[shard], milliseconds(2));
  if (footing_.holders.empty()) footing_ = {{members_.begin(), members_.begin() + shape_.plan.shards()}, {}};
}

// --- losing one ---

// Where it matters most: while a slice is under way to its twin, or some show a version and others do not yet.
void World::threaten(wire::ReplicaId replica, Duration within) {
  if (departures_left_ == 0 || !fate_.chance(0.1)) return;
  --departures_left_;
  after(fate_.between(Duration(1), within), [this, replica] {
    if (may_lose(replica)) throw ProcessLost{replica, "is killed"};
  });
}

bool World::may_lose(wire::ReplicaId replica) const {
  if (footing_.holders.empty() || through()) return false;
  if (std::count_if(processes_.begin(), processes_.end(), [](const auto& p) { return !p.gone && !p.away; }) < 2)
    return false;
  const auto lost = [&](std::size_t shard) {
    const auto holder = footing_.holders[shard % footing_.holders.size()];
    return holder == replica || footing_.lost.contains(holder);
  };
  for (std::size_t shard = 0; shard < footing_.holders.size(); ++shard)
    if (lost(shard) && lost(shard + 1)) return false;
  return true;
}

void World::await_departure() {
  if (departures_left_ == 0) return;
  --departures_left_;
  after(fate_.between(microseconds(100), milliseconds(60)), [this] {
    if (!footing_.holders.empty() || sequencer_.done()) return lose_some_process();
    ++departures_left_;  // nothing was made yet: later
    await_departure();
  });
}

void World::lose_some_process() {
  std::vector<wire::ReplicaId> candidates;
  for (const auto& process : processes_)
    if (!process.away && may_lose(process.life.replica)) candidates.push_back(process.life.replica);
  if (!candidates.empty()) throw ProcessLost{candidates[fate_.below(candidates.size())], "is killed"};
}

void World::lose_process(const ProcessLost& lost) {
  stop_view();
  auto& process = processes_[lost.replica];
  const auto there = std::count_if(processes_.begin(), processes_.end(), [](const auto& p) { return !p.gone; });
  process.away = true;
  process.former.clear();
  process.gone = there > shape_.options.min_replicas && fate_.chance(shape_.recovery.stay_away);
  process.back_at = now_ + fate_.between(microseconds(100), milliseconds(100));
  footing_.lost.insert(lost.replica);
  // The job is at it again: whoever starts replicas starts those again that had found it over.
  for (auto& other : processes_)
    if (std::exchange(other.found_it_over, false)) {
      other.gone = false;
      other.back_at = now_ + milliseconds(1);
    }
  ++outcome_.counts.departures;
  trace([&] {
    return fmt::format("the process of replica {} {}{}", lost.replica, lost.why, process.gone ? " for good" : "");
  });
  muster();
}

void World::come_back(wire::ReplicaId replica) {
  auto& process = processes_[replica];
  const bool over = !mustering_ && sequencer_.done() && std::all_of(members_.begin(), members_.end(), [&](auto member) {
    return processes_[member].side && processes_[member].side->done();
  });
  process.gone = process.found_it_over = over;
  if (over) return;
  trace([&] { return fmt::format("the process of replica {} comes back", replica); });
  stop_view();
  process.away = false;
  muster();
}

// --- forming anew ---

// Everybody lays down what he works on, and keeps what his shard has and what was brought to him.
void World::stop_view() {
  if (std::exchange(mustering_, true)) return;
  for (std::size_t place = 0; place < members_.size(); ++place) {
    auto& process = processes_[members_[place]];
    if (const auto shard = static_cast<wire::ShardId>(place); shard < shards_.size()) {
      const auto committed = shards_[shard].committed();
      process.former.push_back(slice_of(shard, committed, standings_[shard]));
      if (shards_[shard].made_next())
        process.former.push_back(slice_of(shard, committed + 1, shards_[shard].standing_next()));
    }
    std::move(process.kept.begin(), process.kept.end(), std::back_inserter(process.former));
    process.kept.clear();
    process.side.reset();
    process.still_until = {};
    process.held.clear();
  }
  shards_.clear();
  payloads_.forget();
  squares_.clear();
}

// The connections of a view end with it.
void World::muster() {
  queue_.clear();
  links_ = {};
  for (const auto& process : processes_)
    if (process.away && !process.gone)
      queue_.add(std::max(now_, process.back_at), [this, replica = process.life.replica] { come_back(replica); });
  after(fate_.between(microseconds(200), milliseconds(20)), [this] { form_view(); });
  if (departures_left_ > 0 && fate_.chance(shape_.recovery.in_a_row)) {
    --departures_left_;
    after(fate_.between(microseconds(1), milliseconds(40)), [this] { lose_some_process(); });
  }
}

core::Attendance World::attendance() {
  core::Attendance attendance{view_, members_, chief_, {}, {}};
  for (const auto& process : processes_) {
    if (process.away) {
      attendance.dead.insert(process.life.replica);
      continue;
    }
    core::Caller caller{{process.life.replica, ""}, {}};
    for (const auto& slice : process.former) caller.holdings.push_back(slice.holding);
    const auto place = static_cast<std::ptrdiff_t>(fate_.below(attendance.here.size() + 1));  // they come in any order
    attendance.here.insert(attendance.here.begin() + place, std::move(caller));
  }
  return attendance;
}

void World::form_view() {
  const auto who = attendance();
  if (!core::may_go_on(who)) outcome_.violations.push_back("all that are left have come, and may not go on");
  const auto view = core::form(who);
  if (!view) {
    outcome_.violations.push_back("the job cannot be formed anew: " + view.error().message);
    return;
  }
  const auto& network = view->networks.at(0);
  if (network.standing && network.standing->version != network.version)
    outcome_.violations.push_back(fmt::format("the job is formed anew from version {} with the standing of version {}",
                                              network.version, network.standing->version));
  gather(*view);
  view_ = view->number;
  chief_ = view->chief;
  members_.clear();
  for (const auto& seat : view->members) members_.push_back(seat.replica);
  spread(shape_, members_.size());
  trace([&] {
    return fmt::format("view {} is formed of {} replicas, from version {} of view {}", view_, members_.size(),
                       network.version, view->from);
  });
  bring_slices(network);
}

// Every slice from whom the view says has it.
void World::gather(const wire::View& view) {
  const auto& network = view.networks.at(0);
  std::vector<std::uint64_t> values(shape_.plan.blocks.size());
  for (wire::ShardId shard = 0; shard < network.sources.size(); ++shard) {
    const auto& process = processes_[view.members.at(network.sources[shard]).replica];
    const auto slice = std::find_if(process.former.begin(), process.former.end(), [&](const auto& one) {
      return one.holding.view == view.from && one.holding.shard == shard && one.holding.version == network.version;
    });
    if (slice == process.former.end()) {
      outcome_.violations.push_back(
          fmt::format("replica {} does not have slice {} of version {}", process.life.replica, shard, network.version));
      continue;
    }
    outcome_.counts.from_twins += slice->twin;
    for (const auto& [block, value] : slice->values) {
      values[block] = value;
      if (value != values_.at(network.version, block))
        outcome_.violations.push_back(fmt::format("block {} is not what it was in version {}", block, network.version));
    }
  }
  values_.load(std::move(values));
}

// Each to its owner and to its twin, in any order. The view begins when all are there: nothing is told of a version
// that is held once.
void World::bring_slices(const wire::View::Network& network) {
  const auto shards = shape_.plan.shards();
  const std::uint32_t copies = shards > 1 ? 2 : 1;
  slices_missing_ = copies * shards;
  for (wire::ShardId shard = 0; shard < shards; ++shard)
    for (std::uint32_t copy = 0; copy < copies; ++copy) {
      auto slice = slice_of(shard, network.version, network.standing);
      slice.twin = copy > 0;
      after(while_working(), [this, slice = std::move(slice), host = members_[(shard + copy) % shards]] {
        processes_[host].former.push_back(slice);
        if (--slices_missing_ == 0) begin_view(slice.holding.standing);
      });
    }
}

void World::begin_view(const std::optional<core::Standing>& standing) {
  ++outcome_.counts.views;
  trace([&] { return fmt::format("view {} begins", view_); });
  for (const auto replica : members_) {
    auto& process = processes_[replica];
    for (auto& slice : process.former)
      if (slice.holding.view == view_ && slice.twin) keep(process, slice);
    std::erase_if(process.former, [&](const auto& slice) { return slice.holding.view == view_; });
  }
  recorder_.add(now_, history::Resumed{standing.value_or(core::Standing{}), 0, terms(), true});
  make_machines(standing);
  footing_ = {{members_.begin(), members_.begin() + shape_.plan.shards()}, {}};
  mustering_ = false;
  for (const auto& process : processes_)
    if (process.away) strike_off({process.life.replica, born_[process.life.replica]});
  begin_work();
}

}  // namespace yoke::sim
