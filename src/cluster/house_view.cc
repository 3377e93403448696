#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/folder.h"
#include "cluster/house.h"
#include "cluster/identity.h"
#include "wire/codec.h"

namespace yoke::cluster {

Status House::receive_member(transport::Connection& connection, const wire::Identity& identity,
                             const std::string& introduction) {
  if (!options_.members) return Error{Code::refused, "this job has servers: the replicas do not host the parameters"};
  if (!connection.peer_may_serve())
    return Error{Code::refused, "its certificate is not that of a server (`yoke cert new` without --client makes one)"};
  guests_[&connection] = {Guest::Kind::member, nullptr, identity};
  options_.members->on_up(connection, introduction);
  return {};
}

Networks House::dissolve() {
  forming_ = true;
  auto& only = containers_.at("");
  Networks networks;
  if (only.server) {
    networks = only.server->networks();
    tallies_.clear();
    for (const auto& [index, network] : networks)
      if (network->sequencer()) tallies_.emplace(index, std::pair(network->decided(), network->tally()));
    only.server->abandon("the job is formed anew");
  }
  for (auto& [connection, guest] : guests_) guest.server = nullptr;
  only.server.reset();
  channels_.clear();
  std::erase_if(guests_, [](const auto& entry) { return entry.second.kind == Guest::Kind::channel; });
  for (const auto& newcomer : std::exchange(only.waiting, {})) newcomer.connection->close("the job is formed anew");
  const auto links = std::exchange(links_, {});
  for (const auto& [shard, link] : links) link.connection->close("the job is formed anew");
  dialled_ = nullptr;
  if (options_.coordinated) checkpointer_.reset();  // whoever is the first next needs the folder
  return networks;
}

void House::shut() {
  dissolve();
  listener_.reset();
}

void House::take_part(HousePart part) {
  options_.view = part.view;
  options_.shard = part.shard;
  options_.shards = part.shards;
  options_.join = part.join;
  options_.twin = part.twin;
  inherits_ = std::move(part.inherits);
  absent_ = std::move(part.absent);
  chief_ = part.chief;
  backup_ = part.backup;
  filled_ = part.filled;
  from_disk_ = part.from_disk;
  restore_ = part.restore;
  brought_ = part.brought;
  identity_.id = options_.shard;
  identity_.shards = options_.shards;
  identity_.view = options_.view;
  auto& waiting = containers_.at("").waiting;
  const auto of_another_view = [&](const auto& newcomer) {
    const auto identity = wire::decode_identity(newcomer.introduction);
    return !identity || identity->view != options_.view;
  };
  for (const auto& newcomer : waiting)
    if (of_another_view(newcomer)) newcomer.connection->close("the job is formed anew");
  std::erase_if(waiting, of_another_view);
  settings_.introduction = wire::encode_identity(identity_);
  listener_->introduce_as(settings_.introduction);
}

Status House::begin_view(std::optional<int> link) {
  checkpointer_.reset();  // first: it may have the folder
  auto settings = options_.checkpoints;
  if (restore_ && !settings.folder.empty()) settings.resume = settings.folder;
  auto checkpointer = Checkpointer::open(settings, first(), options_.say, !from_disk_);
  if (!checkpointer) return checkpointer.error();
  checkpointer_ = std::move(*checkpointer);
  forming_ = false;
  formed_ = !from_disk_ || restore_;
  if (link)
    adopt_link(*link);
  else
    begin("", containers_.at(""), ++runs_);
  return {};
}

void House::backup_changed(bool there) {
  backup_ = there;
  filled_ = false;
  if (auto& server = containers_.at("").server) server->backup_changed(there);
}

void House::backup_has(std::uint32_t network, wire::Version version) {
  if (auto& server = containers_.at("").server) server->backup_has(network, version);
}

bool House::awaits_values() const {
  const auto& server = containers_.at("").server;
  return brought_ && (!server || server->networks().empty() || server->awaits_values());
}

std::uint64_t House::progress() const { return containers_.at("").progress->load(std::memory_order_relaxed); }

std::optional<wire::Version> House::checkpoint_there() const {
  const auto& settings = options_.checkpoints;
  const auto& folder = settings.folder.empty() ? settings.resume : settings.folder;
  if (folder.empty()) return {};
  const auto names = checkpoint::posix_disk().list(folder);
  if (!names) return {};
  std::optional<wire::Version> newest;
  for (const auto& name : *names)
    if (const auto version = checkpoint::version_sealed(name)) newest = std::max(newest.value_or(0), *version);
  return newest;
}

}  // namespace yoke::cluster
