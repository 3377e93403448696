// Where every server that had a shard is lost, and a replica has its values: the shard's new server asks for them.
#include <fmt/format.h>

#include <algorithm>

#include "cluster/checkpointer.h"
#include "cluster/hosted_network.h"
#include "cluster/server.h"
#include "wire/codec.h"

namespace yoke::cluster {

// What the optimizer remembers no replica has: it is taken from the newest checkpoint, which the disk's thread reads.
void Server::await_values(const std::shared_ptr<HostedNetwork>& network) {
  network->begin_loading();
  auto* checkpointer = premises_.checkpointer;
  if (!checkpointer) return network->await_values({});
  checkpointer->read([network, checkpointer, progress = premises_.progress, &loop = premises_.loop] {
    std::optional<wire::Version> of;
    if (const auto from = checkpointer->newest_on_disk(); from && network->load_memory(*from, *progress))
      of = from->manifest().version;
    loop.post([network, of] { network->await_values(of); });
  });
}

void Server::wants_values(HostedNetwork& network, wire::Version version, std::optional<wire::Version> remembered) {
  const auto memory = !remembered ? std::string("the optimizer begins anew with it")
                      : *remembered == version
                          ? std::string("what the optimizer remembers is in the checkpoint")
                          : fmt::format("what the optimizer remembers is older, of version {}", *remembered);
  say(fmt::format("shard {} was lost with its server: its values of version {} come from a replica; {}", options_.shard,
                  version, memory));
  for (const auto& one : opening_[network.number()])
    if (const auto peer = one.lock(); peer && !peer->left) ask_for_values(*peer, network);
}

void Server::ask_for_values(Peer& peer, HostedNetwork& network) {
  if (peer.identity.role != wire::Role::replica) return;
  peer.bringing[network.number()] = false;
  peer.connection->grant(2 * network.shard_bytes());
  peer.connection->send(
      wire::encode(wire::Wanted{network.number(), network.began_with(), options_.brought.value_or(0)}));
}

// Many may bring them: they are all the same, and those of the first are taken, from the beginning to the end.
bool Server::brings(Peer& peer, HostedNetwork& network) {
  const auto batch = peer.bringing.find(network.number());
  if (batch == peer.bringing.end()) return false;
  auto& bringer = bringers_[network.number()];
  if (network.awaits_values() && !batch->second && bringer.expired()) {
    bringer = std::static_pointer_cast<Peer>(peer.connection->note);
    network.expect_values();
  }
  const bool taken = network.awaits_values() && bringer.lock().get() == &peer;
  batch->second = batch->second || !taken;
  return taken;
}

Status Server::on(Peer& peer, const wire::Wanted& wanted) {
  const auto it = networks_.find(wanted.network);
  if (it == networks_.end() || peer.bringing.erase(wanted.network) == 0)
    return Error{Code::corrupt, "values that nobody asked for"};
  auto& network = *it->second;
  if (!network.awaits_values()) return {};
  auto& bringer = bringers_[wanted.network];
  if (bringer.lock().get() == &peer) return network.values_brought();
  if (bringer.expired()) ask_for_values(peer, network);  // whose were taken instead is gone
  return {};
}

// Those who are still at theirs are asked again when they are through.
void Server::bringer_gone(const Peer& peer) {
  for (const auto& [index, network] : networks_) {
    const auto it = bringers_.find(index);
    if (!network->awaits_values() || it == bringers_.end() || it->second.lock().get() != &peer) continue;
    bringers_.erase(it);
    for (const auto& one : opening_[index])
      if (const auto other = one.lock();
          other && !other->left && other.get() != &peer && !other->bringing.contains(index))
        ask_for_values(*other, *network);
  }
}

bool Server::awaits_values() const {
  return std::any_of(networks_.begin(), networks_.end(), [](const auto& entry) { return entry.second->loading(); });
}

}  // namespace yoke::cluster
