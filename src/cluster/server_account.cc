#include <algorithm>

#include "cluster/account.h"
#include "cluster/identity.h"
#include "cluster/server.h"

namespace yoke::cluster {
namespace {

using wire::Role;

constexpr auto kLeave = std::chrono::seconds(15);  // for replicas to go, once the result stands
constexpr auto kHung = std::chrono::seconds(120);  // or, where it does not, for anything at all to happen
constexpr std::size_t kMarks = 10;

}  // namespace

void Server::tick() {
  std::uint64_t sum = 0;
  for (const auto& peer : peers_)
    if (peer->identity.role == Role::replica) sum += peer->connection->peer_progress();
  const auto time = transport::Loop::now();
  if (sum != std::exchange(seen_progress_, sum)) {
    premises_.progress->fetch_add(1, std::memory_order_relaxed);
    progressed_ = time;
  }
  // Training is over: who is there still and does nothing any more keeps nobody.
  if (first() && over() && !ending_ &&
      ((concluded_ && time - *concluded_ > kLeave && time - progressed_ > kLeave) || time - progressed_ > kHung)) {
    if (concluded_)
      end({});
    else
      end(Error{Code::timed_out, "training is over, but nobody has drawn the conclusion"});
  }
  if (const auto it = networks_.find(0); it != networks_.end() && it->second->sequencer()) {
    marks_.push_back({time, it->second->sequencer()->committed()});
    if (marks_.size() > kMarks) marks_.pop_front();
  }
  consider_a_checkpoint();
  if (options_.recorder) static_cast<void>(options_.recorder->flush());
  timer_ = premises_.loop.after(kTick, [this] { tick(); });
}

wire::Account Server::account() const {
  wire::Account account;
  const auto it = networks_.find(0);
  if (it != networks_.end() && it->second->sequencer()) {
    const auto& network = *it->second;
    account = account_of(network.terms(), *network.sequencer(), network.tally());
    if (began_) account.seconds = std::chrono::duration<double>(over_.value_or(now()) - *began_).count();
    if (marks_.size() > 1) {
      const auto time = std::chrono::duration<double>(marks_.back().at - marks_.front().at).count();
      if (time > 0) account.steps_per_second = static_cast<double>(marks_.back().step - marks_.front().step) / time;
    }
  }
  if (premises_.checkpointer) {
    const auto newest = premises_.checkpointer->newest();
    account.checkpoint = newest.folder;
    account.checkpointed = newest.version;
    account.checkpoint_problem = newest.problem;
  }
  account.servers.push_back({0, where_is(this_process(Role::server, 0)), options_.address, true});
  for (std::uint32_t shard = 1; shard < options_.shards; ++shard) {
    const auto* peer = server(shard);
    account.servers.push_back(
        {shard, peer ? where_is(peer->identity) : "", peer ? peer->identity.listens : "", peer != nullptr});
  }
  for (const auto& [id, seat] : seats_) {
    while (account.replicas.size() <= id)
      account.replicas.push_back({.id = static_cast<wire::ReplicaId>(account.replicas.size())});
    tell_of(id, seat, account.replicas[id]);
  }
  return account;
}

// What the connection knows of a replica, over what the sequencer does.
void Server::tell_of(wire::ReplicaId id, const Seat& seat, wire::ReplicaAccount& to) const {
  const auto* peer = replica(id);
  to.present = peer != nullptr;
  to.where = seat.where;
  to.gone = seat.gone;
  to.lives = seat.lives;
  if (seat.works)
    to.mean_step_seconds = seat.work / static_cast<double>(seat.works);
  else if (seat.cuts)
    to.mean_step_seconds = seat.cut / static_cast<double>(seat.cuts);
  if (peer)
    to.last_heard_seconds =
        std::chrono::duration<double>(transport::Loop::now() - peer->connection->last_heard()).count();
}

}  // namespace yoke::cluster
