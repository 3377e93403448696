// The coordinator of simulated servers: what it hears and says, its store, and how it is lost.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "sim/world.h"

namespace yoke::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A connection keeps the order of what is said on it.
void World::tell_server(wire::Incarnation life, Queue::Action action) {
  auto* server = host_of(life);
  if (!server) return;
  server->heard = std::max(now_ + notice(), server->heard + Duration(1));
  queue_.add(
      server->heard,
      [this, life, link = server->told_on, action = std::move(action)] {
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
    host_of(life)->told_on = link;
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
  const bool formed = !coordinator_->forming();
  core::CoordinatorEffects effects;
  coordinator_->on(event, now_, effects);
  if (formed && coordinator_->forming()) ask_replicas();
  for (const auto& effect : effects) {
    if (const auto* store = std::get_if<core::Store>(&effect)) {
      let_go_of_others(store->view);
      // It may die before this is on the disk, or before it knows that it is.
      lasting(fate_.between(microseconds(20), milliseconds(2)), [this, view = store->view] {
        if (!coordinator_) return;
        const bool anew = !stored_ || stored_->number != view.number;
        stored_ = view;
        if (anew) holders_.clear();
        for (wire::ShardId shard = 0; anew && shard < view.shards.size(); ++shard) {
          const auto& one = view.shards[shard];
          if (host_of(one.primary.life)) holders_.emplace(shard, one.primary.life);
          if (one.backup && one.filled && host_of(one.backup->life)) holders_.emplace(shard, one.backup->life);
        }
        let_go_of_others(view);
        if (!peace() && coordinators_left_ > 0 && fate_.chance(0.05)) {
          --coordinators_left_;
          coordinator_.reset();
        }
        lasting(fate_.between(microseconds(1), milliseconds(1)), [this] { coordinate(core::Stored{}); });
      });
    } else if (const auto* tell = std::get_if<core::TellView>(&effect)) {
      if (auto* server = host_of(tell->to)) server->attended = false;
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

// Those that look for the servers say what they have.
void World::ask_replicas() {
  for (const auto& process : processes_)
    if (process.side)
      lasting(notice(), [this, life = process.life] {
        wire::Incarnation present = 0;
        core::ReplicaSaid said;
        for (const auto& one : processes_) {
          if (one.life.replica != life.replica || !one.side) continue;
          present = one.life.incarnation;
          for (wire::ShardId shard = 0; shard < one.in_hand.size(); ++shard)
            if (one.in_hand[shard] > 0)
              said.has.push_back(
                  {running_view_ ? running_view_->number : 0, 0, shard, shape_.plan.shards(), one.in_hand[shard], {}});
        }
        if (present == life.incarnation) coordinate(said);
      });
}

bool World::replica_has(wire::ShardId shard, wire::Version version) const {
  return std::any_of(processes_.begin(), processes_.end(), [&](const auto& process) {
    return process.side && shard < process.in_hand.size() && process.in_hand[shard] == version;
  });
}

// Whoever is in no place of a shard, or begins there from nothing, is none of its holders any more.
void World::let_go_of_others(const wire::ServerView& view) {
  const bool anew = !stored_ || stored_->number != view.number;
  std::erase_if(holders_, [&](const auto& holder) {
    const auto& shard = view.shards[holder.first];
    const bool backup = shard.backup && shard.backup->life == holder.second && (!anew || shard.filled);
    return holder.second != shard.primary.life && !backup;
  });
}

void World::tick_coordinator() {
  lasting(milliseconds(20), [this] {
    const bool all_run = std::find(running_.begin(), running_.end(), false) == running_.end();
    if (peace() && through() && all_run && coordinator_ && queue_.empty()) return;
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

}  // namespace yoke::sim
