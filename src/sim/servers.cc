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
  // What it was taken in for is what it has of this view from now on.
  std::erase_if(server->kept, [&](const auto& slice) {
    return view.networks.empty() || slice.holding.version != view.networks.at(0).version ||
           !view.shards[slice.holding.shard].goes_on_with(life);
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
    server->since = view.shards[shard].since;
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
  for (wire::ShardId shard = 0; shard < view.shards.size(); ++shard)
    if (view.shards[shard].brought && !replica_has(shard, view.networks.at(0).version)) {
      lasting(milliseconds(20), [this, whose = view.shards[shard].primary.life, number = view.number] {
        lay_down(whose, number, "no replica has brought the values of its shard");
      });
      return;
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
    // The first server has told of what its sequencer has committed, whether its shard knows or not.
    if (shard != 0 || sequencer_.committed() <= committed) keep(committed, standings_[shard]);
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
  if (!first && sequencer_.checkpointing()) ++outcome_.counts.discarded;
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
    // One may have been sealed by a first server that died after the others had said which there are.
    if (sequencer_.committed() < *view.restore)
      outcome_.violations.push_back("the servers go on from an older checkpoint than the coordinator said");
  } else {
    if (!view.networks.empty()) {
      standing = view.networks.at(0).standing;
      const auto version = view.networks.at(0).version;
      std::vector<std::uint64_t> values(shape_.plan.blocks.size());
      for (wire::ShardId shard = 0; shard < view.shards.size(); ++shard) {
        if (view.shards[shard].brought) {
          ++outcome_.counts.brought;
          for (const auto block : shape_.plan.of_shard[shard]) values[block] = values_.at(version, block);
          continue;
        }
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
      recorder_.add(now_, history::Resumed{standing.value_or(beginning()), 0, terms(), true});
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
    // What was under way when it laid the view down may still come to it, until it begins anew.
    if (!ready && !(over && !server->view && server->backup && server->backup_of == shard)) return;
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
      after(while_working(), [this, life, shard, version = e->version, since = server->since] {
        const auto* from = host_of(life);
        if (!from || cut(*from) || !at_work(shard)) return;
        const auto& present = running_view_->shards[shard];
        const auto* primary = host_of(present.primary.life);
        if (!present.backup || present.backup->life != life || present.since != since || !primary || cut(*primary))
          return;
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

}  // namespace yoke::sim
