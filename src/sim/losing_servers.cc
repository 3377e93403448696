// Servers that die or are cut off, never more of them at once than is promised to be survived.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "sim/world.h"

namespace yoke::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;

bool World::may_lose_server(wire::Incarnation life) {
  if (!running_view_) return false;  // nothing was there to be lost
  const bool forming = !coordinator_ || coordinator_->forming() || stored_->number != running_view_->number;
  // A backup that its primary has lost is about to be taken out: with what it has nobody goes on, as the primary may
  // have gone on without it.
  const auto stays = [&](const ServerHost& server) {
    if (forming) return server.attended;
    const auto* primary = server.backup_of ? host_of(running_view_->shards[*server.backup_of].primary.life) : nullptr;
    return !primary || primary->backup_lost.empty();
  };
  const auto has_another = [&](wire::ShardId shard) {
    return std::any_of(servers_.begin(), servers_.end(), [&](const auto& server) {
      return server.up && server.host.life != life && !cut(server) && stays(server) &&
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
    server.attended = false;
    server.cut_until = now_ + fate_.between(milliseconds(1), milliseconds(200));
    lasting(notice(), [this, life] {
      if (const auto* one = host_of(life); one && cut(*one)) coordinate(core::Departed{life, false, "silence"});
    });
    // What it has counts again when it is back, unless it was taken out of its place meanwhile.
    std::map<wire::ShardId, wire::ServerView::Shard> had;
    for (const auto& [shard, holder] : holders_)
      if (holder == life) had[shard] = stored_->shards[shard];
    std::erase_if(holders_, [&](const auto& holder) { return holder.second == life; });
    lasting(server.cut_until - now_ + microseconds(1), [this, life, had, number = stored_ ? stored_->number : 0] {
      const auto* one = host_of(life);
      if (!one) return;
      trace([&] { return fmt::format("{} is reached again", one->host.listens); });
      if (stored_ && stored_->number == number)
        for (const auto& [id, place] : had) {
          const auto& shard = stored_->shards[id];
          const bool backup = shard.backup && shard.backup->life == life && shard.since == place.since;
          if (shard.primary.life == life || backup) holders_.emplace(id, life);
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
