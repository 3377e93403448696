#include <fmt/format.h>

#include <algorithm>

#include "cluster/identity.h"
#include "cluster/server.h"
#include "cluster/while_set.h"
#include "wire/codec.h"
#include "wire/limits.h"

namespace yoke::cluster {
namespace {

using wire::Role;

constexpr auto kFarewellToPeers = std::chrono::seconds(2);
constexpr auto kOthersMayCome = std::chrono::seconds(5);
constexpr auto kSilent = std::chrono::seconds(3);  // of a connection on which heartbeats should come more often

}  // namespace

void Server::on_up(transport::Connection& connection, const std::string& introduction) {
  auto identity = wire::decode_identity(introduction);
  if (!identity) return connection.close(connection.peer() + ": " + identity.error().message);
  auto peer = std::make_shared<Peer>();
  peer->identity = std::move(*identity);
  peer->connection = connection.shared_from_this();
  connection.note = peer;
  peers_.insert(peer);
  if (ending_) return refuse(*peer, "the job is over");
  if (auto admitted = admit(*peer); !admitted) return refuse(*peer, admitted.error().message);
  connection.call_peer(in_words(peer->identity));
}

Status Server::admit(Peer& peer) {
  switch (peer.identity.role) {
    case Role::server:
      return admit_server(peer);
    case Role::replica:
      return admit_replica(peer);
    case Role::watcher:
    case Role::keeper:
    case Role::member:
    case Role::coordinator:
      break;
  }
  return {};
}

Status Server::admit_server(Peer& peer) {
  const auto id = peer.identity.id;
  if (!first()) {  // the house lets in no other
    peer.first_server = true;
    servers_[0] = &peer;
    return {};
  }
  if (peer.identity.shards != options_.shards || id == 0 || id >= options_.shards)
    return Error{Code::refused, fmt::format("shard {} of {} does not belong to a job with {} servers", id,
                                            peer.identity.shards, options_.shards)};
  if (const auto* other = server(id))
    return Error{Code::refused, fmt::format("shard {} is served by {} already", id, in_words(other->identity))};
  servers_[id] = &peer;
  if (servers_.size() + 1 == options_.shards) welcome_all();
  return {};
}

Status Server::admit_replica(Peer& peer) {
  auto& identity = peer.identity;
  if (first() && !identity.numbered) identity.id = free_seat();
  if (!networks_.empty() && identity.id >= networks_.begin()->second->terms().replicas)
    return Error{Code::refused, fmt::format("the job has {} replicas, and needs no other{}",
                                            networks_.begin()->second->terms().replicas, when_full())};
  if (identity.id >= wire::kMaxMembers)
    return Error{Code::refused, fmt::format("at most {} replicas", wire::kMaxMembers)};
  if (auto room = make_room(identity); !room) return room;
  replicas_[identity.id] = &peer;
  send_to_twin();
  if (!first()) return {};
  auto& seat = seats_[identity.id];
  seat.where = where_is(identity);
  seat.incarnation = identity.incarnation;
  seat.left = seat.well = seat.welcomed = false;
  seat.gone.clear();
  ++seat.lives;
  if (servers_.size() + 1 == options_.shards) welcome(peer);
  return {};
}

// The lowest number that nobody has now.
wire::ReplicaId Server::free_seat() const {
  wire::ReplicaId id = 0;
  while (replicas_.contains(id)) ++id;
  return id;
}

// One replica, one life: a later life of one that is there takes its place. The same process knows best that its former
// connection is over, and the first server has already decided for the others. Of two processes that both want to be
// that replica the one that is heard stays.
Status Server::make_room(const wire::Identity& newcomer) {
  auto* other = replica(newcomer.id);
  const auto seat = seats_.find(newcomer.id);
  if (first() && newcomer.replaces != 0 && (seat == seats_.end() || seat->second.incarnation != newcomer.replaces))
    return Error{Code::refused, "the job that it wants to join again is another than this"};
  if (!other) {
    if (seat == seats_.end() || newcomer.incarnation > seat->second.incarnation) return {};
    return Error{Code::refused, fmt::format("replica {} has had a later life than this one", newcomer.id)};
  }
  const bool same = other->identity.incarnation == newcomer.replaces;
  const bool silent = transport::Loop::now() - other->connection->last_heard() > kSilent;
  if (newcomer.incarnation <= other->identity.incarnation || (first() && !same && !silent))
    return Error{Code::refused,
                 fmt::format("replica {} is there already: {}{}", newcomer.id, in_words(other->identity), when_full())};
  const auto why = fmt::format("a later life of it has come: {}", in_words(newcomer));
  other->left = true;
  other->connection->close(why);
  gone(*other, why);
  return {};
}

// What to do where a run of a container is going on.
std::string Server::when_full() const {
  if (options_.container.empty()) return "";
  return fmt::format(
      "; a run is going on in container {}: wait until it is over, or take part in it with `yoke replica` and the same "
      "flags, as long as it has replicas that have not come",
      options_.container);
}

// Everybody may set out once every server is there.
void Server::welcome_all() {
  say(fmt::format("all {} servers are there", options_.shards));
  for (const auto& [id, peer] : replicas_) welcome(*peer);
}

void Server::welcome(Peer& peer) {
  wire::Welcome welcome;
  welcome.replica = peer.identity.id;
  welcome.servers.resize(options_.shards);  // of the first itself whoever reads this has come from there
  for (const auto& [shard, other] : servers_) welcome.servers[shard] = other->identity.listens;
  seats_[peer.identity.id].welcomed = true;
  peer.connection->send(wire::encode(std::move(welcome)));
  if (concluded_) peer.connection->send(wire::encode(wire::Concluded{}));
  elect();
}

// As long as the chief is there it is the chief; then the lowest number that is. At the start number 0 is waited for.
void Server::elect() {
  if (!first()) return;
  if (chief()) return;
  if (!chief_ && !seats_.contains(0)) return;
  const bool stays = !chief_ && options_.chief && !options_.absent.contains(*options_.chief);
  for (const auto& [id, peer] : replicas_) {
    if (!seats_.at(id).welcomed || (stays && id != *options_.chief)) continue;
    if (chief_ && !over()) say(fmt::format("{} is the chief from now on", in_words(peer->identity)));
    chief_ = {id, peer->identity.incarnation};
    peer->connection->send(wire::encode(wire::ChiefNow{}));
    return;
  }
}

void Server::refuse(Peer& peer, const std::string& reason) {
  if (peer.left) return;
  peer.left = true;
  say(fmt::format("{} is refused: {}", in_words(peer.identity), reason));
  peer.connection->send(wire::encode(wire::Refusal{reason}));
  peer.connection->finish(reason);
  gone(peer, reason);
}

// The job ends with that reason, and it is told at the end: once.
void Server::refuse_all(const std::string& reason) {
  const WhileSet refusing(refusing_all_);
  const auto peers = peers_;
  for (const auto& peer : peers)
    if (peer->identity.role == Role::replica) refuse(*peer, reason);
}

// Where the others can go on among themselves they do. This is none of the job any more then.
bool Server::form_anew(const Peer& peer, const std::string& reason) {
  if (!options_.lost || ending_ || over() || refusing_all_) return false;
  if (options_.coordinated) {
    if (peer.identity.role != Role::server) return false;  // replicas host nothing
    options_.lost(fmt::format("{}: {}", in_words(peer.identity), reason));
    return true;
  }
  const bool initialised =
      std::any_of(networks_.begin(), networks_.end(), [](const auto& entry) { return entry.second->initialised(); });
  if (!initialised && !options_.formed) return false;  // nobody has the first values
  tell_drained(peer);
  options_.lost(fmt::format("{}: {}", in_words(peer.identity), reason));
  return true;
}

void Server::tell_drained(const Peer& peer) {
  for (auto [it, end_of] = drained_.equal_range(peer.identity.id); it != end_of; it = drained_.erase(it))
    it->second(fmt::format("{} has gone", in_words(peer.identity)));
}

void Server::gone(Peer& peer, const std::string& reason) {
  const auto id = peer.identity.id;
  if (replica(id) == &peer) {
    replicas_.erase(id);
    bringer_gone(peer);
    if (replicas_.empty() && premises_.checkpointer) premises_.checkpointer->hurry();  // nobody is disturbed by it
    if (first()) {
      if (!networks_.empty() && id >= networks_.begin()->second->terms().replicas) {
        seats_.erase(id);  // one too many
        return consider_the_end();
      }
      if (form_anew(peer, reason)) return;
      const bool done = over();
      auto& seat = seats_[id];
      seat.left = true;
      seat.well = peer.well;
      seat.gone = done ? "" : drained_.contains(id) ? "it was drained" : reason;
      if (networks_.empty()) say(fmt::format("{} has left: {}", in_words(peer.identity), reason));  // else those say it
      for (const auto& [index, network] : networks_) network->down({id, peer.identity.incarnation}, reason);
      if (id == 0 && !ending_ && !refusing_all_)
        for (const auto& [index, network] : networks_)
          if (!network->initialised() && !network->loading()) {
            const auto why = no_chief(reason);
            refuse_all(why.message);
            end(why);
            break;
          }
      tell_drained(peer);
      elect();
      consider_the_end();
    }
  } else if (server(id) == &peer) {
    servers_.erase(id);
    if (ending_ || over() || form_anew(peer, reason)) return;
    const auto lost =
        fmt::format("{} was lost, and with it a part of the parameters: {}", in_words(peer.identity), reason);
    refuse_all(lost);
    waited_ = true;  // no checkpoint can be taken without it
    end(Error{Code::peer_down, lost});
  }
}

void Server::on_down(transport::Connection& connection, const transport::Failure& failure) {
  const auto peer = std::static_pointer_cast<Peer>(connection.note);
  connection.note.reset();
  if (!peer) return;
  peers_.erase(peer);
  if (!peer->left) {
    peer->left = true;
    gone(*peer, failure.text);
  }
  if (ending_ && peers_.empty()) farewell();
}

// Training is over, as the first network counts.
bool Server::over() const {
  const auto it = networks_.find(0);
  return it != networks_.end() && it->second->sequencer() && it->second->sequencer()->done();
}

void Server::consider_the_end() {
  if (!first() || ending_ || !replicas_.empty()) return;
  if (networks_.empty()) {
    if (!options_.container.empty()) end({});  // whoever comes next begins anew
    return;
  }
  if (over()) return end({});
  // They had enough: their own decision. But others may still be on their way.
  const bool well = std::all_of(seats_.begin(), seats_.end(), [](const auto& entry) { return entry.second.well; });
  const bool all_came = seats_.size() >= networks_.begin()->second->terms().replicas;
  const Duration patience = !well ? options_.deadline : all_came ? Duration::zero() : Duration(kOthersMayCome);
  premises_.loop.cancel(abandoned_);
  abandoned_ = premises_.loop.after(patience, [this, well, patience] {
    if (!replicas_.empty() || ending_) return;
    if (well) return end({});
    std::string who;
    for (const auto& [id, seat] : seats_)
      if (!seat.gone.empty()) who += fmt::format("; replica {} ({}): {}", id, seat.where, seat.gone);
    end(Error{Code::peer_down, fmt::format("every replica has left before training was over, and none came back within "
                                           "{:.0f} s{}",
                                           std::chrono::duration<double>(patience).count(), who)});
  });
}

void Server::end(Status status) {
  if (ending_ || end_after_checkpoint_) return;
  if (has_to_wait_for_checkpoint()) {
    end_after_checkpoint_ = std::move(status);
    return await_checkpoint();
  }
  ending_ = std::move(status);
  // What is committed here is on its way to the other servers; nothing may be any more, or their parts would differ.
  for (const auto& [index, network] : networks_) network->freeze();
  const auto peers = peers_;
  for (const auto& peer : peers) {
    if (!peer->left) peer->connection->send(wire::encode(wire::Leaving{"the job is over"}));
    peer->left = true;
    peer->connection->finish("the job is over");
  }
  if (peers_.empty()) return farewell();
  farewell_ = premises_.loop.after(kFarewellToPeers, [this] { farewell(); });
}

void Server::farewell() {
  all_told_ = true;
  passes_done();
}

// The values stay with the container: nobody may be writing to them then.
void Server::passes_done() {
  if (!all_told_ || ended_) return;
  for (const auto& [index, network] : networks_)
    if (network->busy()) return;
  ended_ = true;
  if (options_.recorder)
    if (auto written = options_.recorder->flush(); !written) ending_ = written;
  if (options_.ended) options_.ended(*ending_);
}

void Server::abandon(const std::string& why) {
  for (const auto& [index, network] : networks_) network->freeze();
  const auto peers = peers_;
  for (const auto& peer : peers) {
    peer->left = true;
    peer->connection->close(why);
  }
}

void Server::stop(const std::string& reason) {
  if (ending_) return;
  refuse_all(reason);
  end(Error{Code::cancelled, reason});
}

// No replica has come forward, as messages and heartbeats tell. One that hears nothing of the others' progress, while
// there is some, has a trouble of its own.
bool Server::nothing_for(double seconds) const {
  return std::chrono::duration<double>(transport::Loop::now() - progressed_).count() >= seconds;
}

// The job hangs, so it ends for all: were only those that wait to leave it, the one that hangs would be what is left.
void Server::give_up(const std::string& reason) {
  if (!first() || ending_ || over()) return;
  refuse_all(reason);
  end(Error{Code::timed_out, reason});
}

}  // namespace yoke::cluster
