// Where a coordinator says which server hosts what: servers and the coordinator die, are cut off and come back, at any
// moment. What an old view's servers do while others have laid it down goes on happening until the next view begins.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "sim/world.h"

namespace yoke::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;

Duration World::notice() {
  return fate_.between(microseconds(50), fate_.chance(0.2) ? milliseconds(80) : milliseconds(8));
}

World::ServerHost* World::host_of(wire::Incarnation life) {
  const auto it = std::find_if(servers_.begin(), servers_.end(),
                               [&](const auto& server) { return server.up && server.host.life == life; });
  return it == servers_.end() ? nullptr : &*it;
}

void World::begin_servers() {
  const auto& plan = shape_.servers;
  running_.assign(shape_.plan.shards(), false);
  servers_.resize(shape_.plan.shards() * (1 + plan.backups) + plan.idle);
  coordinator_.emplace(
      core::CoordinatorOptions{shape_.plan.shards(), plan.backups, milliseconds(60), milliseconds(40)});
  for (std::size_t which = 0; which < servers_.size(); ++which)
    lasting(notice(), [this, which] { start_server(which); });
  tick_coordinator();
  lose_servers();
  lose_coordinator();
}

void World::start_server(std::size_t which) {
  auto& server = servers_[which];
  server = {};
  server.up = true;
  server.host = {next_life_++, fmt::format("server {}", which)};
  trace([&] { return fmt::format("{} begins life {}", server.host.listens, server.host.life); });
  attend(server.host.life);
}

// --- the coordinator ---

// A connection keeps the order of what is said on it.
void World::tell_server(wire::Incarnation life, Queue::Action action) {
  auto* server = host_of(life);
  if (!server) return;
  server->heard = std::max(now_ + notice(), server->heard + Duration(1));
  queue_.add(
      server->heard,
      [this, life, link = server->link, action = std::move(action)] {
        if (const auto* to = host_of(life); to && to->link == link) action();
      },
      true);
}

void World::attend(wire::Incarnation life) {
  auto* caller = host_of(life);
  if (!caller) return;
  caller->said = std::max(now_ + notice(), caller->said + Duration(1));
  lasting(caller->said - now_, [this, life, link = caller->link] {
    const auto* server = host_of(life);
    if (!server || cut(*server) || !coordinator_ || server->link != link) return;
    wire::Attend said;
    said.serves = server->view;
    said.laid_down = server->laid_down;
    said.laid_revision = server->laid_revision;
    if (!server->view)
      for (const auto& slice : server->kept) said.holdings.push_back(slice.holding);
    if (shape_.servers.backups == 0)
      if (const auto found = checkpoint::newest(disk_, kCheckpointFolder); found && found->checkpoint)
        said.checkpoint = found->checkpoint->manifest().networks.at(0).standing.version;
    said.why = "a server is lost";
    trace([&] {
      std::string text = fmt::format("{} attends", server->host.listens);
      if (said.serves) text += fmt::format(", serves view {}.{}", said.serves->number, said.serves->revision);
      for (const auto& one : said.holdings)
        text += fmt::format(", has shard {} of version {} of view {}", one.shard, one.version, one.view);
      return text;
    });
    coordinate(core::Attended{server->host, said});
    host_of(life)->attended = !said.serves;
    if (server->view && server->primary_of && !server->backup_lost.empty() && coordinator_)
      if (const auto& backup = server->view->shards[*server->primary_of].backup)
        coordinate(core::BackupSaid{life,
                                    {server->view->number, *server->primary_of, backup->life,
                                     server->view->shards[*server->primary_of].since, server->backup_lost}});
  });
}

void World::coordinate(const core::CoordinatorEvent& event) {
  if (!coordinator_) return;
  core::CoordinatorEffects effects;
  coordinator_->on(event, now_, effects);
  for (const auto& effect : effects) {
    if (const auto* store = std::get_if<core::Store>(&effect)) {
      if (stored_ && store->view.number == stored_->number)
        for (wire::ShardId shard = 0; shard < store->view.shards.size(); ++shard)
          std::erase_if(holders_, [&, &one = store->view.shards[shard]](const auto& holder) {
            return holder.first == shard && holder.second != one.primary.life &&
                   !(one.backup && one.backup->life == holder.second);
          });
      // It may die before this is on the disk, or before it knows that it is.
      lasting(fate_.between(microseconds(20), milliseconds(2)), [this, view = store->view] {
        if (!coordinator_) return;
        const bool anew = !stored_ || stored_->number != view.number;
        stored_ = view;
        for (wire::ShardId shard = 0; shard < view.shards.size(); ++shard) {
          const auto& one = view.shards[shard];
          if (anew) {
            std::erase_if(holders_, [&](const auto& holder) { return holder.first == shard; });
            if (host_of(one.primary.life)) holders_.emplace(shard, one.primary.life);
            if (one.backup && one.filled && host_of(one.backup->life)) holders_.emplace(shard, one.backup->life);
          }
        }
        if (!peace() && coordinators_left_ > 0 && fate_.chance(0.05)) {
          --coordinators_left_;
          coordinator_.reset();
        }
        lasting(fate_.between(microseconds(1), milliseconds(1)), [this] { coordinate(core::Stored{}); });
      });
    } else if (const auto* tell = std::get_if<core::TellView>(&effect)) {
      tell_server(tell->to, [this, to = tell->to, view = tell->view] { told(to, view); });
    } else if (const auto* recall = std::get_if<core::TellRecall>(&effect)) {
      tell_server(recall->to, [this, to = recall->to, what = recall->recall] { lay_down(to, what.view, what.why); });
    } else if (const auto* probe = std::get_if<core::Probe>(&effect)) {
      lasting(notice(), [this, life = probe->host.life] {
        if (!host_of(life)) coordinate(core::Departed{life, true, "nobody listens there"});
      });
    } else if (const auto* gives_up = std::get_if<core::GiveUp>(&effect)) {
      outcome_.violations.push_back("the coordinator gives up: " + gives_up->why);
    } else if (const auto* says = std::get_if<core::CoordinatorSays>(&effect)) {
      trace([&] { return "the coordinator: " + says->text; });
    }
  }
}

void World::tick_coordinator() {
  lasting(milliseconds(20), [this] {
    if (peace() && through() && std::find(running_.begin(), running_.end(), false) == running_.end()) return;
    if (!coordinator_) {
      trace([&] { return "the coordinator comes back"; });
      coordinator_.emplace(
          core::CoordinatorOptions{shape_.plan.shards(), shape_.servers.backups, milliseconds(60), milliseconds(40)},
          stored_);
      for (auto& server : servers_) {
        ++server.link;
        server.attended = false;
        if (server.up) attend(server.host.life);
      }
    }
    coordinate(core::Tick{});
    tick_coordinator();
  });
}

void World::lose_coordinator() {
  if (coordinators_left_ == 0) return;
  lasting(fate_.between(milliseconds(1), milliseconds(150)), [this] {
    if (peace() || coordinators_left_ == 0) return;
    --coordinators_left_;
    ++outcome_.counts.coordinators;
    if (coordinator_) trace([&] { return "the coordinator is killed"; });
    coordinator_.reset();
    lose_coordinator();
  });
}

// --- a server is told what it is ---

void World::told(wire::Incarnation life, const wire::ServerView& view) {
  auto* server = host_of(life);
  if (!server || cut(*server)) return;
  const auto newest = server->view ? server->view->number : server->laid_down;
  if (view.number < newest) return;
  if (server->view && view.number == server->view->number) return take_revision(*server, view);
  if (server->view) return lay_down(life, server->view->number, "there is a later view");
  const bool in_it = std::any_of(view.shards.begin(), view.shards.end(), [&](const auto& shard) {
    // What it has laid down it does not take up again, but as a backup that begins from nothing.
    if (view.number == server->laid_down)
      return shard.backup && shard.backup->life == life && shard.since > server->laid_revision;
    return shard.primary.life == life || (shard.backup && shard.backup->life == life);
  });
  if (!in_it) return;
  // What it begins with is what it has of this view from now on.
  std::erase_if(server->kept, [&](const auto& slice) {
    return view.networks.empty() || slice.holding.version != view.networks.at(0).version;
  });
  for (auto& slice : server->kept) slice.holding.view = view.number;
  server->view = view;
  server->attended = false;
  server->primary_of.reset();
  server->backup_of.reset();
  server->backup.reset();
  server->brought.clear();
  server->backup_lost.clear();
  trace([&] { return fmt::format("{} takes part in view {}", server->host.listens, view.number); });
  for (wire::ShardId shard = 0; shard < view.shards.size(); ++shard) {
    if (view.shards[shard].primary.life == life) server->primary_of = shard;
    if (!view.shards[shard].backup || view.shards[shard].backup->life != life) continue;
    server->backup_of = shard;
    server->backup.emplace();
    if (!view.shards[shard].filled) continue;
    const auto slice = std::find_if(server->kept.begin(), server->kept.end(),
                                    [&](const auto& one) { return one.holding.shard == shard; });
    if (slice == server->kept.end()) {
      outcome_.violations.push_back(
          fmt::format("{} is taken for the backup of shard {}, and has nothing of it", server->host.listens, shard));
      continue;
    }
    server->backup.emplace(slice->holding.version, slice->holding.standing);
    server->brought[slice->holding.version] = slice->values;
  }
  if (!server->primary_of) return;
  for (const auto& shard : view.shards) {
    const auto* primary = host_of(shard.primary.life);
    if (!primary || !primary->view || primary->view->number != view.number) return;
  }
  begin_server_view(view);
}

void World::take_revision(ServerHost& server, const wire::ServerView& view) {
  if (view.revision <= server.view->revision) return;
  const auto former = std::exchange(*server.view, view);
  if (!server.primary_of) return;
  const auto shard = *server.primary_of;
  const auto& was = former.shards[shard].backup;
  const auto& is = view.shards[shard].backup;
  if (was == is && former.shards[shard].since == view.shards[shard].since) return;
  server.backup_lost.clear();
  if (!running_view_ || running_view_->number != view.number) return;  // it begins with the backup it has
  running_view_->shards[shard] = view.shards[shard];
  if (was) deliver(wire::shard_at(shard), core::BackupChanged{false});
  if (is) deliver(wire::shard_at(shard), core::BackupChanged{true});
}

// It takes no part any more, keeps what it has, and says so.
void World::lay_down(wire::Incarnation life, std::uint64_t number, const std::string& why) {
  auto* server = host_of(life);
  if (!server) return;
  if (!server->view) return attend(life);
  if (server->view->number > number) return;
  number = server->view->number;
  trace([&] { return fmt::format("{} lays down view {}: {}", server->host.listens, number, why); });
  const bool began = running_view_ && running_view_->number == number;
  if (server->primary_of && began && running_[*server->primary_of]) {
    const auto shard = *server->primary_of;
    server->kept.clear();
    const auto keep = [&](wire::Version version, const std::optional<core::Standing>& standing) {
      auto slice = slice_of(shard, version, standing);
      slice.holding.view = number;
      server->kept.push_back(std::move(slice));
    };
    const auto committed = shards_[shard].committed();
    keep(committed, standings_[shard]);
    if (shards_[shard].made_next()) keep(committed + 1, shards_[shard].standing_next());
    running_[shard] = false;
  }
  if (server->backup_of && server->backup) {
    server->kept.clear();
    for (const auto& [version, standing] : server->backup->holds())
      server->kept.push_back({{number, 0, *server->backup_of, shape_.plan.shards(), version, standing},
                              true,
                              server->brought.at(version)});
    core::Effects none;
    server->backup->on(core::LaidDown{}, none);  // what the primary sends all the same comes to nothing
  }
  lose_connections(*server);
  server->laid_down = number;
  server->laid_revision = server->view->revision;
  server->view.reset();
  attend(life);
}

void World::begin_server_view(const wire::ServerView& decided) {
  auto view = decided;  // each primary has the backup that it was told of last
  for (wire::ShardId shard = 0; shard < view.shards.size(); ++shard)
    view.shards[shard] = host_of(view.shards[shard].primary.life)->view->shards[shard];
  ++outcome_.counts.views;
  trace([&] { return fmt::format("view {} begins", view.number); });
  const bool first = !running_view_;
  running_view_ = view;
  view_ = view.number;
  queue_.clear();
  links_ = {};
  payloads_.forget();
  squares_.clear();
  shards_.clear();
  for (auto& process : processes_) {
    process.side.reset();
    process.still_until = {};
    process.held.clear();
    process.computing.reset();
  }
  std::optional<core::Standing> standing;
  if (view.restore) {
    resume();
    if (sequencer_.committed() != *view.restore)
      outcome_.violations.push_back("the servers go on from another checkpoint than the coordinator said");
  } else {
    if (!view.networks.empty()) {
      standing = view.networks.at(0).standing;
      const auto version = view.networks.at(0).version;
      std::vector<std::uint64_t> values(shape_.plan.blocks.size());
      for (wire::ShardId shard = 0; shard < view.shards.size(); ++shard) {
        const auto& server = *host_of(view.shards[shard].primary.life);
        const auto slice = std::find_if(server.kept.begin(), server.kept.end(), [&](const auto& one) {
          return one.holding.shard == shard && one.holding.version == version;
        });
        if (slice == server.kept.end()) {
          outcome_.violations.push_back(
              fmt::format("{} does not have shard {} of version {}", server.host.listens, shard, version));
          continue;
        }
        outcome_.counts.from_twins += slice->twin;
        for (const auto& [block, value] : slice->values) {
          values[block] = value;
          if (value != values_.at(version, block))
            outcome_.violations.push_back(fmt::format("block {} is not what it was in version {}", block, version));
        }
      }
      values_.load(std::move(values));
      history::Resumed resumed{{}, 0, terms(), true};
      if (standing) {
        resumed.standing = *standing;
      } else {
        resumed.standing.samples = shape_.samples;
        resumed.standing.batch = shape_.batch;
        if (shape_.samples > 0) resumed.standing.ledger.emplace();
      }
      recorder_.add(now_, std::move(resumed));
    }
    make_machines(standing);
  }
  running_.assign(view.shards.size(), true);
  members_.clear();
  for (const auto& process : processes_)
    if (!process.gone) members_.push_back(process.life.replica);
  for (const auto& process : processes_)
    if (process.gone && !first) strike_off({process.life.replica, born_[process.life.replica]});
  for (wire::ShardId shard = 0; shard < view.shards.size(); ++shard)
    if (view.shards[shard].backup && !view.shards[shard].filled)
      deliver(wire::shard_at(shard), core::BackupChanged{true});
  begin_work();
}

// --- backups ---

void World::to_backup(wire::ShardId shard, bool slice, wire::Version version) {
  const auto& backup = running_view_->shards[shard].backup;
  if (!backup) return;
  const auto standing = slice ? standings_[shard] : next_standings_[shard];
  auto values = slice_of(shard, version, standing).values;
  const auto life = backup->life, from = running_view_->shards[shard].primary.life;
  const auto number = running_view_->number;
  const auto since = running_view_->shards[shard].since;
  threaten_server(from, milliseconds(6), 0.03);
  const auto bring = [this, shard, since, from, life, number, slice, version, standing,
                      values](const auto& again) -> void {
    auto* server = host_of(life);
    auto* primary = host_of(from);
    if (!primary || !primary->view || primary->view->number != number) return;
    const auto& mine = primary->view->shards[shard];
    if (!mine.backup || mine.backup->life != life || mine.since != since) return;  // it has another by now
    if (!server || cut(*server) || cut(*primary)) {  // there is no connection, or it is lost
      primary->backup_lost = "its backup cannot be reached";
      return attend(from);
    }
    const bool ready = server->view && server->view->number == number && server->backup_of == shard &&
                       server->view->shards[shard].since == since;
    const bool over = server->laid_down > number || (server->laid_down == number && server->laid_revision >= since);
    if (!ready && !over) after(milliseconds(10), [again] { again(again); });  // it has not heard of it yet
    if (!ready && over) {                                                     // it does not answer
      primary->backup_lost = "its backup has laid the view down";
      attend(from);
    }
    // What was under way when it laid the view down may still come to it.
    if (!ready && !(over && server->backup && server->backup_of == shard)) return;
    if (slice)
      hear_backup(life, core::SliceCame{version, standing}, values);
    else
      hear_backup(life, core::MeansCame{version, standing}, values);
  };
  after(time_on_the_way(wire::shard_at(shard), wire::shard_at(shard + 1)) + while_working(slice ? 4 : 1),
        [bring] { bring(bring); });
}

void World::hear_backup(wire::Incarnation life, const core::Event& event,
                        std::map<wire::BlockId, std::uint64_t> values) {
  auto* server = host_of(life);
  if (!server || !server->backup || !server->backup_of) return;
  const auto shard = *server->backup_of;
  if (const auto* slice = std::get_if<core::SliceCame>(&event)) server->brought[slice->version] = values;
  // What the means make of the version before is known when they are sent, and there when they were gone through.
  if (const auto* followed = std::get_if<core::Followed>(&event)) server->brought[followed->version] = values;
  core::Effects effects;
  if (const auto* means = std::get_if<core::MeansCame>(&event)) means_[life][means->version] = std::move(values);
  server->backup->on(event, effects);
  for (const auto& effect : effects) {
    if (const auto* e = std::get_if<core::Follow>(&effect))
      after(while_working(),
            [this, life, version = e->version] { hear_backup(life, core::Followed{version}, means_[life][version]); });
    if (const auto* e = std::get_if<core::Acknowledge>(&effect))
      after(while_working(), [this, life, shard, version = e->version] {
        const auto* from = host_of(life);
        if (!from || cut(*from) || !at_work(shard)) return;
        const auto& backup = running_view_->shards[shard].backup;
        const auto* primary = host_of(running_view_->shards[shard].primary.life);
        if (!backup || backup->life != life || !primary || cut(*primary)) return;
        deliver(wire::shard_at(shard), core::Mirrored{version});
      });
  }
}

void World::tell_filled(wire::ShardId shard) {
  const auto life = running_view_->shards[shard].backup->life;
  after(notice(), [this, life, shard, number = running_view_->number, since = running_view_->shards[shard].since] {
    auto* server = host_of(life);
    if (!server || cut(*server) || !server->view || server->view->number != number || !server->backup ||
        server->view->shards[shard].since != since)
      return;
    trace([&] { return fmt::format("{} is filled", server->host.listens); });
    ++outcome_.counts.filled;
    core::Effects none;
    server->backup->on(core::FilledUp{}, none);
    const auto& stored = stored_->shards[shard];  // unless it is being taken out
    if (stored_->number == number && stored.backup && stored.backup->life == life && stored.since == since)
      holders_.emplace(shard, life);
  });
}

// --- losing one ---

bool World::may_lose_server(wire::Incarnation life) {
  if (!running_view_) return false;  // nothing was there to be lost
  const bool forming = !coordinator_ || coordinator_->forming() || stored_->number != running_view_->number;
  const auto has_another = [&](wire::ShardId shard) {
    return std::any_of(servers_.begin(), servers_.end(), [&](const auto& server) {
      return server.up && server.host.life != life && !cut(server) && (!forming || server.attended) &&
             holders_.contains({shard, server.host.life});
    });
  };
  for (wire::ShardId shard = 0; shard < shape_.plan.shards(); ++shard) {
    if (has_another(shard)) continue;
    if (shape_.servers.backups > 0) return false;
    if (!holders_.contains({shard, life})) continue;
    const auto found = checkpoint::newest(disk_, kCheckpointFolder);
    if (!found || !found->checkpoint) return false;
  }
  return true;
}

void World::lose_servers() {
  if (servers_left_ == 0) return;
  --servers_left_;
  lasting(fate_.chance(shape_.servers.in_a_row) ? fate_.between(microseconds(10), milliseconds(3))
                                                : fate_.between(milliseconds(1), milliseconds(120)),
          [this] {
            if (peace()) return;
            // Takes its primary for lost, which is not; or not yet.
            for (auto& server : servers_)
              if (server.up && server.view && server.backup && server.backup->filled() && fate_.chance(0.2)) {
                const auto primary = server.view->shards[*server.backup_of].primary.life;
                lay_down(server.host.life, server.view->number, "its primary is silent");
                threaten_server(primary, milliseconds(40), 0.7);
                return lose_servers();
              }
            std::vector<std::size_t> candidates;
            for (std::size_t which = 0; which < servers_.size(); ++which)
              if (servers_[which].up && !cut(servers_[which]) && may_lose_server(servers_[which].host.life))
                candidates.push_back(which);
            if (!candidates.empty()) {
              ++outcome_.counts.servers;
              // A server that is only cut off stays the only one who has what it has.
              auto& server = servers_[candidates[fate_.below(candidates.size())]];
              lose_server(server, shape_.servers.backups == 0 || !fate_.chance(shape_.servers.cut));
            }
            lose_servers();
          });
}

// When it matters most.
void World::threaten_server(wire::Incarnation life, Duration within, double chance) {
  if (peace() || servers_left_ == 0 || !fate_.chance(chance)) return;
  --servers_left_;
  lasting(fate_.between(Duration(1), within), [this, life] {
    auto* server = host_of(life);
    if (!server || cut(*server) || peace() || !may_lose_server(life)) return;
    ++outcome_.counts.servers;
    lose_server(*server, true);
  });
}

void World::lose_server(ServerHost& server, bool dies) {
  const auto life = server.host.life;
  const auto which = static_cast<std::size_t>(&server - servers_.data());
  const auto view = server.view;
  const auto primary_of = server.primary_of;
  trace([&] {
    std::string text =
        fmt::format("{} (life {}) is {}; holders:", server.host.listens, life, dies ? "killed" : "cut off");
    for (const auto& [shard, holder] : holders_) text += fmt::format(" {}:{}", shard, holder);
    return text;
  });
  if (dies) {
    if (view && primary_of && running_view_ && running_view_->number == view->number) running_[*primary_of] = false;
    server.up = false;
    server.backup.reset();
    std::erase_if(holders_, [&](const auto& holder) { return holder.second == life; });
    lasting(fate_.between(milliseconds(1), milliseconds(80)), [this, which] { start_server(which); });
    lasting(notice(), [this, life] { coordinate(core::Departed{life, true, "a server is killed"}); });
  } else {
    ++server.link;
    server.cut_until = now_ + fate_.between(milliseconds(1), milliseconds(200));
    lasting(notice(), [this, life] {
      if (const auto* one = host_of(life); one && cut(*one)) coordinate(core::Departed{life, false, "silence"});
    });
    std::set<std::pair<wire::ShardId, wire::Incarnation>> had;
    for (const auto& holder : holders_)
      if (holder.second == life) had.insert(holder);
    std::erase_if(holders_, [&](const auto& holder) { return holder.second == life; });
    lasting(server.cut_until - now_ + microseconds(1), [this, life, had, number = stored_ ? stored_->number : 0] {
      const auto* one = host_of(life);
      if (!one) return;
      trace([&] { return fmt::format("{} is reached again", one->host.listens); });
      if (stored_ && stored_->number == number)
        for (const auto& holder : had) {
          const auto& shard = stored_->shards[holder.first];
          if (shard.primary.life == life || (shard.backup && shard.backup->life == life)) holders_.insert(holder);
        }
      attend(life);
    });
    // It has lost the others as they have lost it, and may or may not notice before it is reached again.
    if (view && fate_.chance(0.7))
      lasting(notice(), [this, life, view] { lay_down(life, view->number, "all are silent"); });
  }
  if (view) lose_connections(server);
}

// Whoever has a connection to it loses that.
void World::lose_connections(const ServerHost& server) {
  const auto number = server.view->number;
  for (const auto& other : servers_) {
    if (&other == &server || !other.up || !other.view || other.view->number != number) continue;
    const auto life = other.host.life;
    const bool linked = server.primary_of && other.primary_of && (*server.primary_of == 0 || *other.primary_of == 0);
    const bool its_backup = server.primary_of && other.backup_of == server.primary_of;
    const bool its_primary = server.backup_of && other.primary_of == server.backup_of;
    if (linked || its_backup) lasting(notice(), [this, life, number] { lay_down(life, number, "a server is lost"); });
    if (its_primary)
      lasting(notice(),
              [this, life, number, backup = server.host.life, since = server.view->shards[*server.backup_of].since] {
                auto* primary = host_of(life);
                if (!primary || !primary->view || primary->view->number != number) return;
                const auto& present = primary->view->shards[*primary->primary_of];
                if (!present.backup || present.backup->life != backup || present.since != since) return;
                primary->backup_lost = "its backup is lost";
                attend(life);
              });
  }
}

}  // namespace yoke::sim
