#include "core/coordinator.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/planted.h"

namespace yoke::core {

using wire::Host;
using wire::Incarnation;
using wire::ServerView;
using wire::ShardId;
using wire::Version;

Coordinator::Coordinator(CoordinatorOptions options, std::optional<ServerView> stored)
    : options_(std::move(options)), view_(std::move(stored)) {}

void Coordinator::on(const CoordinatorEvent& event, Time now, CoordinatorEffects& out) {
  if (abdicated_) return;
  if (const auto* e = std::get_if<Attended>(&event)) on_attended(*e, now, out);
  if (const auto* e = std::get_if<Departed>(&event)) on_departed(*e, now, out);
  if (const auto* e = std::get_if<BackupSaid>(&event)) on_backup(*e, now, out);
  if (const auto* e = std::get_if<ReplicaSaid>(&event); e && round_)
    for (const auto& one : e->has)
      if (one.view == view_->number) replicas_[{one.network, one.shard}].insert(one.version);
  if (const auto* e = std::get_if<Stored>(&event)) on_stored(*e, out);
  if (std::holds_alternative<Tick>(event) && view_ && !view_->over)
    for (const auto& shard : view_->shards)
      for (const auto& host : {std::optional(shard.primary), shard.backup})
        if (host && !dead_.contains(host->life) && !there(host->life)) out.push_back(Probe{*host});
  if (const auto* e = std::get_if<JobOver>(&event))
    over_ = over_ || (view_ && view_->shards.front().primary.life == e->from);
  consider(now, out);
}

bool Coordinator::is_primary(Incarnation life) const {
  return view_ && std::any_of(view_->shards.begin(), view_->shards.end(),
                              [&](const auto& shard) { return shard.primary.life == life; });
}

// Else it was not told yet what it is in it.
bool Coordinator::heard_of_view(const Server& server) const {
  if (server.laid->laid_down != view_->number) return server.laid->laid_down > view_->number;
  for (const auto& shard : view_->shards)
    if (shard.backup && shard.backup->life == server.host.life) return server.laid->laid_revision >= shard.since;
  return true;
}

bool Coordinator::is_backup(Incarnation life) const {
  return view_ && std::any_of(view_->shards.begin(), view_->shards.end(),
                              [&](const auto& shard) { return shard.backup && shard.backup->life == life; });
}

// --- who comes and goes ---

void Coordinator::on_attended(const Attended& attended, Time now, CoordinatorEffects& out) {
  const auto life = attended.host.life;
  // Whoever listens where another did has taken its place.
  std::vector<Incarnation> replaced;
  for (const auto& [other, server] : servers_)
    if (other < life && server.host.listens == attended.host.listens && !dead_.contains(other))
      replaced.push_back(other);
  for (const auto other : replaced) on_departed({other, true, "another process listens in its place"}, now, out);
  auto& server = servers_[life];
  server.host = attended.host;
  server.there = true;
  dead_.erase(life);
  const auto& serves = attended.said.serves;
  // Decided by a coordinator before this one, which had stored it where this one does not look.
  if (serves && (!view_ || serves->number > view_->number ||
                 (serves->number == view_->number && serves->revision > view_->revision)))
    take_over(*serves, life, out);
  if (serves && serves->number == view_->number && in_view(life)) {
    server.laid.reset();
    if (round_)
      out.push_back(TellRecall{life, {view_->number, why_}});
    else if (serves->revision < view_->revision || view_->over)
      out.push_back(TellView{life, *view_});
    return;
  }
  if (serves) {  // of a view that is over
    out.push_back(TellRecall{life, {serves->number, "the job has been formed anew without this server"}});
    return;
  }
  server.laid = attended.said;
  server.since = now;
  if (!view_) return;
  if (view_->over) {
    out.push_back(TellView{life, *view_});
  } else if (!round_ && is_primary(life) && !heard_of_view(server)) {
    out.push_back(TellView{life, *view_});
    server.laid.reset();
  } else if (!round_ && is_primary(life)) {
    end_view(attended.said.why, now, out);
  }
}

void Coordinator::on_departed(const Departed& departed, Time now, CoordinatorEffects& out) {
  if (departed.dead) dead_.insert(departed.life);
  const auto it = servers_.find(departed.life);
  if (it != servers_.end()) {
    it->second.there = false;
    if (!departed.dead && in_view(departed.life)) out.push_back(Probe{it->second.host});
    if (departed.dead) it->second.laid.reset();
  }
  if (departed.dead && !round_ && view_ && !view_->over && is_primary(departed.life)) end_view(departed.why, now, out);
}

void Coordinator::on_backup(const BackupSaid& said, Time, CoordinatorEffects& out) {
  if (!view_ || said.news.view != view_->number || said.news.shard >= view_->shards.size()) return;
  auto& shard = view_->shards[said.news.shard];
  if (shard.primary.life != said.from || !shard.backup || shard.backup->life != said.news.backup ||
      shard.since != said.news.since)
    return;
  if (said.news.lost.empty()) {
    out.push_back(CoordinatorSays{fmt::format("shard {} has a backup, at {}", said.news.shard, shard.backup->listens)});
    return;
  }
  out.push_back(CoordinatorSays{fmt::format("shard {} has lost its backup: {}", said.news.shard, said.news.lost)});
  lost_.insert(said.news.backup);
}

void Coordinator::end_view(const std::string& why, Time now, CoordinatorEffects& out) {
  if (round_ || !view_ || view_->over) return;
  round_ = now;
  why_ = why;
  replicas_.clear();
  out.push_back(CoordinatorSays{fmt::format("view {} is over: {}", view_->number, why)});
  for (const auto& [life, server] : servers_)
    if (server.there && !(in_view(life) && server.laid)) out.push_back(TellRecall{life, {view_->number, why}});
}

// What another has decided after what this one knows of. Whoever is in none of it, or not told yet, is.
void Coordinator::take_over(const ServerView& view, Incarnation from, CoordinatorEffects& out) {
  view_ = view;
  pending_.reset();
  round_.reset();
  for (const auto& [life, server] : servers_) {
    if (!server.there || server.laid || life == from) continue;
    if (in_view(life))
      out.push_back(TellView{life, *view_});
    else
      out.push_back(TellRecall{life, {view_->from, "the job goes on without this server"}});
  }
}

// --- deciding ---

void Coordinator::consider(Time now, CoordinatorEffects& out) {
  if (pending_ || (view_ && view_->over)) return;
  if (over_) {
    auto last = *view_;
    last.over = true;
    ++last.revision;
    return decide(std::move(last), out);
  }
  if (!view_) return begin(now, out);
  if (round_) return form(now, out);
  // After a restart: members that do not come back by themselves may be no more.
  for (const auto& shard : view_->shards)
    if (dead_.contains(shard.primary.life)) return end_view("a server is gone", now, out);
  care_for_backups(now, out);
}

void Coordinator::begin(Time now, CoordinatorEffects& out) {
  std::vector<Host> there;
  for (const auto& [life, server] : servers_)
    if (server.there && server.laid) there.push_back(server.host);
  if (there.size() < options_.shards) return enough_since_.reset();
  if (!enough_since_) enough_since_ = now;
  const auto wanted = static_cast<std::size_t>(options_.shards) * (1 + options_.backups);
  if (there.size() < wanted && now < *enough_since_ + options_.gathering) return;
  ServerView view{.number = 1};
  for (ShardId shard = 0; shard < options_.shards; ++shard) {
    view.shards.push_back({there[shard], {}});
    if (options_.backups > 0 && options_.shards + shard < there.size())
      view.shards.back().backup = there[options_.shards + shard];
  }
  decide(std::move(view), out);
}

std::map<std::uint32_t, Coordinator::Versions> Coordinator::holdings_of(const Server& server, ShardId shard) const {
  std::map<std::uint32_t, Versions> networks;
  if (!server.laid) return networks;
  for (const auto& holding : server.laid->holdings) {
    if (holding.shard != shard) continue;
    const bool of_view = holding.view == view_->number;
    // It has not heard of this one yet: what it was taken into it for is what it has.
    const bool before = server.laid->laid_down < view_->number && holding.network < view_->networks.size() &&
                        !view_->shards[shard].brought && holding.version == view_->networks[holding.network].version;
    if (of_view || before) networks[holding.network][holding.version] = holding.standing;
  }
  return networks;
}

std::set<Version> Coordinator::had_by_replicas(std::uint32_t network, ShardId shard) const {
  const auto it = replicas_.find({network, shard});
  return it == replicas_.end() ? std::set<Version>() : it->second;
}

std::optional<Version> Coordinator::told_at_most(std::uint32_t network, const ByShard& holders) const {
  std::optional<Version> most;
  for (ShardId shard = 0; shard < holders.size(); ++shard)
    for (const auto* server : holders[shard].servers) {
      if (holders[shard].former) continue;
      const auto all = holdings_of(*server, shard);
      const auto versions = all.find(network);
      if (versions == all.end()) continue;
      // The first server tells, so it knows: the older of what it has is what was told of last.
      if (shard == 0 && server->host.life == view_->shards[0].primary.life) return versions->second.begin()->first;
      most = std::min(most.value_or(UINT64_MAX), versions->second.rbegin()->first);
    }
  return most;
}

Coordinator::Holders Coordinator::former_holders(ShardId shard) const {
  Holders former{{}, true};
  for (const auto& [life, server] : servers_) {
    if (!idle(server) || holdings_of(server, shard).empty()) continue;
    // Of this view, or of the one that it was made of: versions are counted again after a checkpoint.
    const auto& all = server.laid->holdings;
    if (std::all_of(all.begin(), all.end(), [&](const auto& one) {
          return one.shard != shard || one.view == view_->number || one.view == view_->from;
        }))
      former.servers.push_back(&server);
  }
  return former;
}

bool Coordinator::has(const Server& server, ShardId shard, const std::vector<ServerView::Network>& networks) const {
  const auto all = holdings_of(server, shard);
  for (std::uint32_t network = 0; network < networks.size(); ++network)
    if (shard < shards_of(network) && (!all.contains(network) || !all.at(network).contains(networks[network].version)))
      return false;
  return true;
}

// A small network has fewer shards than there are servers: those have nothing of it.
std::uint32_t Coordinator::shards_of(std::uint32_t network) const {
  std::uint32_t shards = 1;
  for (const auto& [life, server] : servers_)
    if (server.laid)
      for (const auto& holding : server.laid->holdings)
        if (holding.network == network) shards = std::max(shards, holding.shards);
  return shards;
}

std::optional<std::vector<ServerView::Network>> Coordinator::newest_whole(const ByShard& holders) const {
  std::set<std::uint32_t> networks;
  for (ShardId shard = 0; shard < holders.size(); ++shard)
    for (const auto* server : holders[shard].servers)
      for (const auto& [network, versions] : holdings_of(*server, shard)) networks.insert(network);
  std::vector<ServerView::Network> result;
  for (const auto network : networks) {
    if (network != result.size()) return {};
    const auto shards = shards_of(network);
    // What is committed every holder has. What only some have was never told of: without it the others stay filled.
    const auto by_all = [&](std::uint32_t index, Version version) {
      for (ShardId shard = 0; shard < holders.size(); ++shard)
        for (const auto* server : holders[shard].servers)
          if (const auto all = holdings_of(*server, shard);
              !holders[shard].former && all.contains(index) && !all.at(index).contains(version))
            return false;
      return true;
    };
    std::optional<ServerView::Network> newest;
    std::map<Version, std::set<ShardId>> found;
    std::map<Version, std::optional<wire::Standing>> standings;
    for (ShardId shard = 0; shard < holders.size(); ++shard)
      for (const auto* server : holders[shard].servers) {
        const auto all = holdings_of(*server, shard);
        const auto versions = all.find(network);
        if (versions == all.end()) continue;
        for (const auto& [version, standing] : versions->second) {
          found[version].insert(shard);
          if (standing || !standings.contains(version)) standings[version] = standing;
        }
      }
    bool uncertain = false;
    for (ShardId shard = 0; shard < std::min<std::size_t>(shards, holders.size()); ++shard) {
      if (!holders[shard].former) continue;
      uncertain = true;
      for (const auto version : had_by_replicas(network, shard)) found[version].insert(shard);
    }
    for (const auto& [version, where] : found) {
      if (where.size() < std::min<std::size_t>(shards, holders.size()) || !by_all(network, version)) continue;
      if (newest && planted(Bug::new_sequencer_forgets_a_record)) continue;
      newest = ServerView::Network{version, standings[version]};
    }
    if (!newest) return {};
    // What replicas and former holders have may not be the newest.
    const auto told = told_at_most(network, holders);
    if (uncertain && (!newest->standing || !told || newest->version < *told)) return {};
    if (planted(Bug::view_change_loses_a_gradient) && newest->standing && newest->standing->ledger)
      newest->standing->ledger->returned.clear();
    result.push_back(*newest);
  }
  // Nobody who is left has anything of a small network whose only shard is lost: it is not to be forgotten.
  std::size_t known = 0;
  for (const auto& [life, server] : servers_)
    if (std::ranges::any_of(holders, &Holders::former) && in_view(life) && server.laid)
      known = std::max<std::size_t>(known, server.laid->networks);
  if (result.size() < known) return {};
  return result;
}

std::optional<Version> Coordinator::checkpoint() const {
  std::optional<Version> newest;
  for (const auto& [life, server] : servers_)
    if (server.there && server.laid && server.laid->checkpoint)
      newest = std::max(newest.value_or(0), *server.laid->checkpoint);
  return newest;
}

std::optional<Coordinator::Gathered> Coordinator::gather() {
  Gathered all;
  all.holders.resize(view_->shards.size());
  missing_.clear();
  const auto answered = [&](const Host& host) {
    if (dead_.contains(host.life)) return true;
    const auto it = servers_.find(host.life);
    return it != servers_.end() && it->second.there && it->second.laid.has_value();
  };
  for (ShardId id = 0; id < view_->shards.size(); ++id) {
    const auto& shard = view_->shards[id];
    auto& holders = all.holders[id].servers;
    bool all_of_shard = true;
    for (const auto& host : {std::optional(shard.primary), shard.backup}) {
      if (!host) continue;
      if (!answered(*host)) {
        all_of_shard = all.answered = false;
        missing_ += fmt::format("{}the server at {}", missing_.empty() ? "" : ", ", host->listens);
        continue;
      }
      const auto it = servers_.find(host->life);
      if (it == servers_.end() || !it->second.laid) continue;
      // What a backup has from the time before it was lost and taken in again is old.
      if (host->life != shard.primary.life && !heard_of_view(it->second) && !shard.filled) continue;
      if (!holdings_of(it->second, id).empty()) holders.push_back(&it->second);
    }
    // Somebody who is silent may have it, and may still be at it: without him nobody goes on.
    if (holders.empty() && !all_of_shard) return {};
    all.anybody_has = all.anybody_has || !holders.empty();
    all.untouched = all.untouched && !dead_.contains(shard.primary.life);
  }
  for (ShardId id = 0; id < all.holders.size(); ++id)
    if (all.holders[id].servers.empty()) all.holders[id] = former_holders(id);
  return all;
}

void Coordinator::form(Time now, CoordinatorEffects& out) {
  const bool impatient = now >= *round_ + options_.patience;
  const auto gathered = gather();
  if (!gathered || (!gathered->answered && !impatient)) return;
  const auto& holders = gathered->holders;

  ServerView next{.number = view_->number + 1, .from = view_->number};
  for (const auto& [life, server] : servers_)
    if (server.laid) next.number = std::max(next.number, server.laid->laid_down + 1);
  std::optional<std::vector<ServerView::Network>> whole;
  if (gathered->anybody_has) whole = newest_whole(holders);
  // Nobody had anything yet, and nobody is dead who could have had: it begins as it began before.
  const bool at_the_beginning = !gathered->anybody_has && gathered->untouched && view_->networks.empty();
  if (whole) next.networks = std::move(*whole);
  if (!whole) next.restore = at_the_beginning ? view_->restore : checkpoint();
  // Those that are idle say anew which checkpoint there is.
  if (!whole && !at_the_beginning && !impatient) return;
  // Who holds the version stays what it was; others fill what is left.
  std::set<Incarnation> taken;
  next.shards.resize(view_->shards.size());
  for (ShardId id = 0; id < next.shards.size(); ++id) {
    auto& shard = next.shards[id];
    const auto& former = view_->shards[id];
    const auto take = [&](const std::optional<Host>& host) {
      if (!host || dead_.contains(host->life)) return false;
      const auto it = servers_.find(host->life);
      if (it == servers_.end() || !it->second.there || !it->second.laid) return false;
      const auto& having = holders[id].servers;
      if (whole && std::find(having.begin(), having.end(), &it->second) == having.end()) return false;
      taken.insert(host->life);
      return true;
    };
    if (take(former.primary)) shard.primary = former.primary;
    if (take(former.backup)) {
      shard.filled = shard.primary.life != 0 && whole;
      (shard.primary.life == 0 ? shard.primary : shard.backup.emplace()) = *former.backup;
    }
    for (const auto* server : holders[id].servers)
      if (whole && holders[id].former && shard.primary.life == 0 && has(*server, id, next.networks)) {
        shard.primary = server->host;
        taken.insert(shard.primary.life);
      }
  }
  const auto spare = [&]() -> const Host* {
    for (const auto& [life, server] : servers_)
      if (server.there && server.laid && !taken.contains(life)) {
        taken.insert(life);
        return &server.host;
      }
    return nullptr;
  };
  for (auto& shard : next.shards) {
    if (shard.primary.life != 0) continue;
    // No server has it in memory: a shard that has no part of any network, or a checkpoint, or a replica has it.
    const auto* host = spare();
    if (!host) {
      missing_ = "another server, in the place of one that is gone";
      return;
    }
    shard.primary = *host;
    const auto id = static_cast<ShardId>(&shard - next.shards.data());
    for (std::uint32_t network = 0; network < next.networks.size(); ++network)
      shard.brought = shard.brought || had_by_replicas(network, id).contains(next.networks[network].version);
  }
  if (!whole && !at_the_beginning && !next.restore) {
    // What those that are idle said before is old: there may be a checkpoint since.
    for (const auto& [life, server] : servers_)
      if (idle(server) && server.since < *round_) {
        missing_ = fmt::format("word of the server at {}", server.host.listens);
        return;
      }
    out.push_back(GiveUp{fmt::format(
        "{}: a part of the parameters was lost with every server that had it, and there is no checkpoint. Give the "
        "servers backups (--backups 1), or keep checkpoints (--checkpoint DIR)",
        why_)});
    abdicated_ = true;
    return;
  }
  if (options_.backups > 0)
    for (auto& shard : next.shards)
      if (!shard.backup)
        if (const auto* host = spare()) shard.backup = *host;
  decide(std::move(next), out);
}

void Coordinator::care_for_backups(Time now, CoordinatorEffects& out) {
  auto next = *view_;
  bool changed = false;
  for (auto& shard : next.shards) {
    if (!shard.backup) continue;
    const auto it = servers_.find(shard.backup->life);
    const bool dead = dead_.contains(shard.backup->life);
    // One that has laid it down has lost the primary: which may be gone, or will say so as well.
    const bool laid = it != servers_.end() && it->second.laid.has_value();
    if (laid && !it->second.there) continue;
    if (laid && !heard_of_view(it->second)) {
      it->second.laid.reset();
      out.push_back(TellView{it->first, *view_});
      continue;
    }
    if (laid && now >= it->second.since + options_.patience) return end_view(it->second.laid->why, now, out);
    if (dead || lost_.contains(shard.backup->life)) {
      shard.backup.reset();
      shard.filled = false;
      changed = true;
    }
  }
  if (options_.backups > 0)
    for (auto& shard : next.shards) {
      if (shard.backup) continue;
      const auto one = std::find_if(servers_.begin(), servers_.end(), [&](const auto& entry) {
        return idle(entry.second) && std::none_of(next.shards.begin(), next.shards.end(), [&](const auto& other) {
                 return other.backup && other.backup->life == entry.first;
               });
      });
      if (one == servers_.end()) break;
      shard.backup = one->second.host;
      shard.since = next.revision + 1;
      changed = true;
    }
  if (!changed) return;
  ++next.revision;
  decide(std::move(next), out);
}

void Coordinator::decide(ServerView view, CoordinatorEffects& out) {
  pending_ = view;
  anew_ = !view_ || round_;
  out.push_back(Store{std::move(view)});
}

void Coordinator::on_stored(const Stored& stored, CoordinatorEffects& out) {
  if (!pending_) return;
  if (!stored.ok) {
    abdicated_ = true;
    out.push_back(GiveUp{"this coordinator does not rule: " + stored.why});
    return;
  }
  const auto former = std::exchange(view_, std::exchange(pending_, std::nullopt));
  for (const auto& shard : view_->shards)  // whoever comes in has a new beginning
    if (shard.backup && (anew_ || shard.since == view_->revision)) lost_.erase(shard.backup->life);
  if (view_->over) {
    round_.reset();
    for (const auto& [life, server] : servers_)
      if (server.there) out.push_back(TellView{life, *view_});
    return;
  }
  if (round_ && !anew_) {  // it was laid down meanwhile: nobody has heard of the revision, so it never was
    view_->shards = former->shards;
    return;
  }
  if (anew_) {
    round_.reset();
    why_.clear();
    missing_.clear();
    std::string from = view_->restore            ? fmt::format(", from the checkpoint of version {}", *view_->restore)
                       : view_->networks.empty() ? ""
                                                 : fmt::format(", from version {}", view_->networks.front().version);
    for (ShardId shard = 0; shard < view_->shards.size(); ++shard)
      if (view_->shards[shard].brought) from += fmt::format("; a replica brings the values of shard {}", shard);
    out.push_back(CoordinatorSays{fmt::format("view {}{}", view_->number, from)});
  }
  for (auto& [life, server] : servers_) {
    if (!server.there) continue;
    if (in_view(life)) {
      if (server.laid && heard_of_view(server)) continue;  // it has laid this very view down
      server.laid.reset();
      out.push_back(TellView{life, *view_});
    } else if (!server.laid) {  // it is out of it, and does not know
      out.push_back(TellRecall{life, {anew_ ? view_->from : view_->number, "the job goes on without this server"}});
    }
  }
}

std::string Coordinator::waiting_for() const {
  if (!view_) {
    std::size_t there = 0;
    for (const auto& [life, server] : servers_) there += server.there;
    return fmt::format("servers: {} of {} are there", there, options_.shards * (1 + options_.backups));
  }
  return missing_;
}

}  // namespace yoke::core
