#include "cluster/server.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/identity.h"
#include "cluster/layout_difference.h"
#include "cluster/pinned_values.h"
#include "cluster/wrong.h"
#include "wire/codec.h"

namespace yoke::cluster {
namespace {

using wire::Role;

constexpr std::size_t kMostAtOnce = 4u << 20;  // bytes of first values in one message
// For the replicas to come again, when the servers have changed.
constexpr auto kReplicasMayCome = std::chrono::milliseconds(2500);
constexpr auto kWithoutThem = std::chrono::milliseconds(500);  // where steps are made without some of them anyway

const wire::Life* life_of(const wire::Message& message) {
  return std::visit(
      [](const auto& m) -> const wire::Life* {
        if constexpr (requires { m.life; })
          return &m.life;
        else if constexpr (requires { m.gradient.life; })
          return &m.gradient.life;
        else
          return nullptr;
      },
      message);
}

// May a peer of this role say this?
bool may_say(Role role, bool from_first, const wire::Message& message) {
  using namespace wire;
  const auto is = [&]<class... T>(std::variant<T...>*) { return (std::holds_alternative<T>(message) || ...); };
  if (role == Role::replica) return is(static_cast<std::variant<Hello, Push, Pull>*>(nullptr));
  if (role != Role::server) return false;
  return from_first ? is(static_cast<std::variant<Record, Scale, Commit, Fence, Forecast>*>(nullptr))
                    : is(static_cast<std::variant<Report, Measured, Reduced, PartSaved>*>(nullptr));
}

}  // namespace

Server::Server(ServerOptions options, Premises premises)
    : options_(std::move(options)), premises_(std::move(premises)), progressed_(transport::Loop::now()) {
  timer_ = premises_.loop.after(kTick, [this] { tick(); });
  if (options_.coordinated && options_.formed && first())
    awaited_ = premises_.loop.after(kWithoutThem, [this] { expect_no_more(kWithoutThem); });
  for (const auto& [id, why] : options_.absent) {
    auto& seat = seats_[id];
    seat.left = true;
    seat.gone = why;
  }
}

Server::~Server() {
  for (const auto& [index, network] : networks_) network->detach();
  for (const auto timer : {timer_, abandoned_, farewell_, checkpoint_wait_, awaited_}) premises_.loop.cancel(timer);
  for (const auto& peer : peers_) peer->connection->note.reset();  // they own each other
}

Time Server::now() const {
  return std::max(transport::Loop::now(),
                  Time(static_cast<std::int64_t>(premises_.clock.load(std::memory_order_relaxed))));
}

Error Server::no_chief(const std::string& why) {
  return {Code::peer_down, "replica 0, the chief, was lost before it had initialised the parameters: " + why};
}

void Server::say(const std::string& text) {
  if (options_.say && !refusing_all_) options_.say(text);
}

Server::Peer* Server::replica(wire::ReplicaId id) const {
  const auto it = replicas_.find(id);
  return it == replicas_.end() ? nullptr : it->second;
}

Server::Peer* Server::chief() const {
  auto* peer = chief_ ? replica(chief_->replica) : nullptr;
  return peer && peer->identity.incarnation == chief_->incarnation ? peer : nullptr;
}

Server::Peer* Server::server(wire::ShardId shard) const {
  const auto it = servers_.find(shard);
  return it == servers_.end() ? nullptr : it->second;
}

Result<transport::Sink> Server::on_announced(transport::Connection& connection, const transport::Incoming& message) {
  const auto peer = std::static_pointer_cast<Peer>(connection.note);
  if (!peer || peer->left) return wrong("a payload from somebody who was refused");
  auto decoded = wire::decode(message.control);
  if (!decoded) return decoded.error();
  if (message.payload % sizeof(float) != 0) return wrong("a payload that is no whole number of floats");
  if (const auto* post = std::get_if<wire::Post>(&*decoded)) {
    const auto* push = std::get_if<wire::Push>(&post->message);
    const auto network = networks_.find(post->network);
    if (!push || network == networks_.end()) return wrong("a payload where none belongs");
    if (auto checked = network->second->check_push(*push, message.payload); !checked) return checked.error();
  } else if (const auto* values = std::get_if<wire::FirstValues>(&*decoded)) {
    const auto network = networks_.find(values->network);
    const bool chief = peer->identity.id == 0 && network != networks_.end() && !network->second->initialised() &&
                       !network->second->loading();
    if (peer->identity.role != Role::replica || !(chief || peer->bringing.contains(values->network)) ||
        message.payload > kMostAtOnce)
      return wrong("first values that nobody asked for");
  } else {
    return wrong("a payload where none belongs");
  }
  peer->announced = std::move(*decoded);
  return transport::Sink{};
}

void Server::on_message(transport::Connection& connection, transport::Incoming message, transport::Bytes payload) {
  const auto peer = std::static_pointer_cast<Peer>(connection.note);
  if (!peer || peer->left) return;
  if (peer->announced) {
    auto announced = std::move(*peer->announced);
    peer->announced.reset();
    return handle(*peer, std::move(announced), std::move(payload));
  }
  auto decoded = wire::decode(message.control);
  if (!decoded) return refuse(*peer, decoded.error().message);
  handle(*peer, std::move(*decoded), std::move(payload));
}

void Server::handle(Peer& peer, wire::JobMessage message, transport::Bytes payload) {
  Status status;
  const bool from_replica = peer.identity.role == Role::replica;
  // What replicas do is progress; what servers say follows from it, and a question is none.
  if (from_replica && !std::holds_alternative<wire::AskAccount>(message) &&
      !std::holds_alternative<wire::Leaving>(message)) {
    premises_.progress->fetch_add(1, std::memory_order_relaxed);
    progressed_ = transport::Loop::now();
  }
  if (auto* post = std::get_if<wire::Post>(&message)) {
    status = on(peer, *post, std::move(payload));
  } else if (std::holds_alternative<wire::AskAccount>(message)) {
    if (!first()) return refuse(peer, "the first server has the account: ask there");
    peer.connection->send(wire::encode(account()));
  } else if (const auto* leaving = std::get_if<wire::Leaving>(&message)) {
    if (peer.first_server) return end({});
    peer.left = true;
    peer.well = leaving->well;
    if (from_replica && leaving->silence > 0 && nothing_for(leaving->silence / 2)) give_up(leaving->reason);
    gone(peer, leaving->reason);
  } else if (!from_replica) {
    status = wrong("something that only a replica may say");
  } else if (auto* open = std::get_if<wire::Open>(&message)) {
    status = on(peer, *open);
  } else if (const auto* values = std::get_if<wire::FirstValues>(&message)) {
    status = on(peer, *values, payload);
  } else if (const auto* done = std::get_if<wire::FirstValuesDone>(&message)) {
    status = on(peer, *done);
  } else if (const auto* brought = std::get_if<wire::Wanted>(&message)) {
    status = on(peer, *brought);
  } else if (const auto* news = std::get_if<wire::StepNews>(&message)) {
    status = on(peer, *news);
  } else if (std::holds_alternative<wire::Concluded>(message)) {
    if (chief() != &peer) return;  // it was taken for lost, and another is the chief now
    concluded_ = transport::Loop::now();
    for (const auto& [id, other] : replicas_)
      if (other != &peer) other->connection->send(wire::encode(wire::Concluded{}));
  } else if (const auto* stop_now = std::get_if<wire::StopNow>(&message)) {
    for (const auto& [index, network] : networks_) network->stop(stop_now->reason);
  } else if (const auto* held = std::get_if<wire::PiecesHeld>(&message)) {
    const auto network = networks_.find(held->network);
    if (network == networks_.end() || options_.twin != peer.identity.id)
      status = wrong("a slice that it was not given");
    else
      network->second->mirrored(held->of);
  } else {
    status = wrong("something that a server never hears");
  }
  if (!status) refuse(peer, status.error().message);
}

// Null: there is not memory enough.
std::shared_ptr<HostedNetwork> Server::host(wire::Open& open, const std::optional<core::Standing>& standing) {
  try {
    auto network = std::make_shared<HostedNetwork>(open.network, options_.shard, open.terms, std::move(open.layout),
                                                   std::move(open.about), *this, premises_.workers, premises_.arena,
                                                   options_.recorder,
                                                   Beginning{standing, options_.twin.has_value() || options_.filled,
                                                             options_.view, options_.coordinated, options_.formed});
    return network->ready() ? network : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  } catch (const std::length_error&) {
    return nullptr;
  }
}

// A network that this job has not had yet. Where the container has kept it, it goes on from there.
Status Server::take_in(wire::Open& open) {
  const auto index = open.network;
  if (index != networks_.size())
    return Error{Code::refused, "every replica attaches the same networks in the same order"};
  if (open.terms.shards != options_.shards)
    return Error{Code::refused, fmt::format("the job is cut for {} shards, but there are {} servers", open.terms.shards,
                                            options_.shards)};
  std::size_t trained = 0;
  for (const auto& slot : open.layout.slots) trained += slot.frozen ? 0 : slot.size();
  if (trained == 0) return Error{Code::invalid_argument, "the network has no parameters to train"};
  const auto kept = premises_.kept.find(index);
  if (kept != premises_.kept.end())
    if (const auto different = difference_of_models(kept->second->layout(), open.layout); !different.empty())
      return Error{
          Code::refused,
          fmt::format("container {} has another model: {} (there: the container). Take another name, or remove "
                      "it first: yoke containers rm {}",
                      options_.container, different, options_.container)};
  if (options_.afford)
    if (auto affordable = options_.afford(open); !affordable) return affordable;
  auto* checkpointer = premises_.checkpointer;
  if (checkpointer)
    if (auto checked = checkpointer->check(index, open.layout, open.terms.seed, open.terms.shuffle); !checked)
      return checked;
  const auto* inherits = options_.inherits.get();
  if (inherits && index >= inherits->networks().size())
    return Error{Code::refused, "the job has fewer networks than this replica"};
  if (options_.coordinated && open.terms.optimizer_state == OptimizerState::per_replica)
    return Error{Code::unsupported,
                 "servers with a coordinator keep one optimizer state for all replicas: leave out "
                 "--state-per-replica, or --backups"};
  auto network = host(open, inherits       ? inherits->networks()[index].standing
                            : checkpointer ? checkpointer->standing(index)
                                           : std::nullopt);
  if (!network)
    return Error{Code::unsupported,
                 fmt::format("server {} has no memory for its part of the network: take more servers "
                             "or a smaller model",
                             options_.shard)};
  if (inherits) {
    if (options_.brought && network->store())
      await_values(network);
    else if (auto loaded = network->load(*inherits); !loaded)
      return loaded;
    // What was decided and is formed again is not counted twice.
    if (const auto tally = options_.tallies.find(index);
        tally != options_.tallies.end() && tally->second.first == inherits->networks()[index].version)
      network->go_on_counting(tally->second.second);
    if (index + 1 == inherits->networks().size()) options_.inherits.reset();
  } else if (kept != premises_.kept.end()) {
    network->go_on_from(*kept->second);
    premises_.kept.erase(kept);
  } else if (checkpointer && checkpointer->resumed()) {
    load(network);
  }
  if (checkpointer && !network->loading()) checkpointer->expect_network(network->plan().shards());
  for (const auto& [id, seat] : seats_)
    if (!seat.gone.empty()) network->down({id, seat.incarnation}, seat.gone);
  if (options_.backup && !options_.filled) network->backup_changed(true);
  networks_.emplace(index, std::move(network));
  return {};
}

// A large part takes a while: the disk's thread reads it, so that this server stays to be heard.
void Server::load(const std::shared_ptr<HostedNetwork>& network) {
  network->begin_loading();
  premises_.checkpointer->read(
      [network, from = premises_.checkpointer->resumed(), progress = premises_.progress, &loop = premises_.loop] {
        loop.post([network, status = network->load(*from, *progress)] { network->loaded(status); });
      });
}

void Server::loaded(HostedNetwork& network, const Status& status) {
  const auto index = network.number();
  const auto peers = std::exchange(opening_[index], {});
  if (!status)
    networks_.erase(index);
  else if (premises_.checkpointer)
    premises_.checkpointer->expect_network(network.plan().shards());
  for (const auto& one : peers) {
    const auto peer = one.lock();
    if (!peer || peer->left) continue;
    if (auto answered = status ? opened(*peer, network) : status; !answered) refuse(*peer, answered.error().message);
  }
}

Status Server::on(Peer& peer, wire::Open& open) {
  const auto index = open.network;
  if (!peer.opened.insert(index).second) return wrong("a network that it has opened already");
  if (peer.identity.id >= open.terms.replicas)
    return Error{Code::refused, fmt::format("this is replica {}, but the job has {} (numbered from 0)",
                                            peer.identity.id, open.terms.replicas)};
  if (const auto it = networks_.find(index); it == networks_.end()) {
    if (auto taken = take_in(open); !taken) return taken;
  } else {
    const auto& known = *it->second;
    if (const auto different = difference(known.layout(), open.layout); !different.empty())
      return Error{Code::refused, "the replicas' networks differ: " + different};
    if (wire::encode(wire::Open{0, known.terms(), {}}) != wire::encode(wire::Open{0, open.terms, {}}))
      return Error{Code::refused,
                   fmt::format("replica {} wants the job run in another way than the others: give every replica the "
                               "same flags",
                               peer.identity.id)};
  }
  auto& network = *networks_.at(index);
  if (!network.loading()) return opened(peer, network);
  opening_[index].push_back(std::static_pointer_cast<Peer>(peer.connection->note));
  if (network.awaits_values()) ask_for_values(peer, network);
  return {};
}

Status Server::opened(Peer& peer, HostedNetwork& network) {
  if (const auto chief = seats_.find(0); chief != seats_.end() && chief->second.left && !network.initialised())
    return no_chief(chief->second.gone);
  peer.connection->grant(2 * network.shard_bytes());
  peer.connection->send(wire::encode(
      wire::Opened{network.number(), peer.identity.id == 0 && !network.initialised(), network.began_with()}));
  return {};
}

Status Server::on(Peer& peer, const wire::FirstValues& values, const transport::Bytes& payload) {
  const auto it = networks_.find(values.network);
  const bool asked = peer.bringing.contains(values.network);
  if (it == networks_.end() ||
      (!asked && (peer.identity.id != 0 || it->second->initialised() || it->second->loading())))
    return wrong("first values that nobody asked for");
  premises_.progress->fetch_add(1, std::memory_order_relaxed);
  if (asked && !brings(peer, *it->second)) return {};  // another one's are taken
  return it->second->bring(
      values, {reinterpret_cast<const float*>(payload.bytes.data()), payload.bytes.size() / sizeof(float)});
}

Status Server::on(Peer& peer, const wire::FirstValuesDone& done) {
  const auto it = networks_.find(done.network);
  if (it == networks_.end()) return wrong("first values of a network that is not there");
  if (!peer.asked.insert(done.network).second) return wrong("first values that it has already");
  auto& network = *it->second;
  if (peer.identity.id == 0 && !network.initialised() && !network.loading()) {
    network.brought();
    peer.connection->send(wire::encode(done));
    for (const auto& other : std::exchange(waiting_[done.network], {}))
      if (const auto waiting = other.lock(); waiting && !waiting->left) send_first_values(*waiting, done.network);
  } else if (network.initialised()) {
    send_first_values(peer, done.network);
  } else {
    waiting_[done.network].push_back(std::static_pointer_cast<Peer>(peer.connection->note));
  }
  return {};
}

void Server::send_first_values(Peer& peer, std::uint32_t index) {
  cluster::send(*peer.connection, pin(networks_.at(index)));
  peer.connection->send(wire::encode(wire::FirstValuesDone{index}));
}

Status Server::on(Peer& peer, wire::Post& post, transport::Bytes payload) {
  const auto it = networks_.find(post.network);
  if (it == networks_.end()) return wrong("a message about a network that is not open");
  if (!may_say(peer.identity.role, peer.first_server, post.message)) return wrong("a message that is not its to send");
  auto from = wire::kSequencer;
  if (peer.identity.role == Role::replica) {
    from = wire::replica_at(peer.identity.id);
    if (!peer.opened.contains(post.network)) return wrong("a message about a network that it has not opened");
    const auto* life = life_of(post.message);
    if (!life || life->replica != peer.identity.id || life->incarnation != peer.identity.incarnation)
      return wrong("a message in the name of another");
    if (const auto* push = std::get_if<wire::Push>(&post.message))
      if (auto checked = it->second->check_push(*push, payload.bytes.size()); !checked) return checked;
  } else if (!peer.first_server) {
    from = wire::shard_at(peer.identity.id);
  }
  it->second->receive(from, std::move(post.message), std::move(payload));
  if (!began_ && it->second->tally().assigned() > 0) began_ = now();
  consider_a_checkpoint();
  return {};
}

Status Server::on(Peer& peer, const wire::StepNews& told) {
  if (!first()) return wrong("news for the first server");
  auto news = told;
  news.replica = peer.identity.id;
  auto& seat = seats_[news.replica];
  (news.whole ? seat.work : seat.cut) += news.work_seconds;
  ++(news.whole ? seat.works : seat.cuts);
  if (auto* to = chief(); to && to != &peer) to->connection->send(wire::encode(news));
  return {};
}

// --- to the twin ---

void Server::mirror(HostedNetwork& network, wire::Version version, Slice slice) {
  for_twin_.push_back({{network.number(), version, network.plan().shards(), slice.standing}, std::move(slice)});
  send_to_twin();
}

void Server::send_to_twin() {
  auto* peer = options_.twin ? replica(*options_.twin) : nullptr;
  if (!peer) return;
  for (auto& [what, slice] : std::exchange(for_twin_, {})) {
    for (auto& piece : slice.pieces) {
      piece.what.of = what.of;
      peer->connection->send(wire::encode(piece.what), {std::as_bytes(piece.values), std::move(piece.keep)});
    }
    peer->connection->send(wire::encode(what));
  }
}

// --- to the backup ---

void Server::to_backup(const wire::JobMessage& message, transport::Bytes payload) {
  if (options_.to_backup) options_.to_backup(wire::encode(message), std::move(payload));
}

void Server::fill(HostedNetwork& network, wire::Version version, Slice slice) {
  to_backup(wire::Open{network.number(), network.terms(), network.layout(), network.about()});
  for (auto& piece : slice.pieces) {
    piece.what.of = version;
    to_backup(piece.what, {std::as_bytes(piece.values), std::move(piece.keep)});
  }
  to_backup(wire::PiecesDone{network.number(), version, network.plan().shards(), std::move(slice.standing)});
}

void Server::send_mean(const wire::Mean& mean, transport::Bytes values) { to_backup(mean, std::move(values)); }

void Server::means_done(HostedNetwork& network, wire::Version version, std::optional<core::Standing> standing) {
  // What the backup has, it may go on from: whatever led to it must be on record.
  if (options_.recorder) static_cast<void>(options_.recorder->flush());
  to_backup(wire::PiecesDone{network.number(), version, network.plan().shards(), std::move(standing)});
}

void Server::tell_filled(HostedNetwork& network) {
  to_backup(wire::Filled{network.number()});
  filled_.insert(network.number());
  if (filled_.size() == networks_.size() && options_.backup_filled) options_.backup_filled();
}

void Server::backup_changed(bool there) {
  options_.backup = there;
  options_.filled = false;
  filled_.clear();
  for (const auto& [index, network] : networks_) network->backup_changed(there);
}

void Server::backup_has(std::uint32_t index, wire::Version version) {
  if (const auto it = networks_.find(index); it != networks_.end()) it->second->mirrored(version);
}

// Who has not come again since the servers have changed is gone; he may still come.
void Server::expect_no_more(Duration waited) {
  if (ending_) return;
  const auto* terms = networks_.empty() ? nullptr : &networks_.begin()->second->terms();
  const bool needed = terms && terms->strategy == Strategy::sync && terms->spares == 0 && waited < kReplicasMayCome;
  if (!terms || needed) {
    awaited_ = premises_.loop.after(kWithoutThem, [this, waited] { expect_no_more(waited + kWithoutThem); });
    return;
  }
  const std::string why = "it did not come again when the servers had changed";
  for (wire::ReplicaId id = 0; id < terms->replicas; ++id) {
    if (replicas_.contains(id) || seats_.contains(id)) continue;
    seats_[id].left = true;
    seats_[id].gone = why;
    for (const auto& [index, network] : networks_) network->down({id, 0}, why);
  }
  elect();
}

// --- the way out ---

void Server::send(std::uint32_t network, const wire::Address& from, const wire::Address& to,
                  const wire::Message& message) {
  if (network == 0 && !over_ && std::holds_alternative<wire::Done>(message)) over_ = now();
  Peer* peer = to.role == wire::Address::Role::replica ? replica(to.id)
               : to.role == wire::Address::Role::shard ? server(to.id)
                                                       : server(0);
  // What others will have seen the consequences of must be on record, also when this process ends in the next moment.
  if (options_.recorder) static_cast<void>(options_.recorder->flush());
  if (peer) peer->connection->send(wire::encode(wire::Post{network, from, to, message}));
}

void Server::send_values(std::uint32_t network, wire::ReplicaId to, wire::BlockId block, ShardStore::Values values) {
  if (auto* peer = replica(to))
    peer->connection->send(wire::encode(wire::BlockValues{network, block, values.made}),
                           {std::as_bytes(values.values), std::move(values.keep)});
}

}  // namespace yoke::cluster
