#include "cluster/server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "cluster/account.h"
#include "cluster/identity.h"
#include "cluster/layout_difference.h"
#include "cluster/while_set.h"
#include "wire/codec.h"
#include "wire/limits.h"

namespace yoke::cluster {
namespace {

using wire::Role;

constexpr auto kTick = std::chrono::seconds(1);
constexpr auto kFarewell = std::chrono::seconds(2);
constexpr auto kLeave = std::chrono::seconds(15);  // for replicas to go, once the result stands
constexpr auto kHung = std::chrono::seconds(120);  // or, where it does not, for anything at all to happen
constexpr auto kOthersMayCome = std::chrono::seconds(5);
constexpr std::size_t kMarks = 10;
constexpr std::size_t kMostAtOnce = 4u << 20;  // bytes of first values in one message
const std::string kNoChief = "replica 0, the chief, was lost before it had initialised the parameters: ";

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
  return from_first ? is(static_cast<std::variant<Record, Scale, Commit, Fence>*>(nullptr))
                    : is(static_cast<std::variant<Report, Measured, Reduced>*>(nullptr));
}

// The address of this end of a connection: where a server that listens everywhere is reached.
std::string own_host(int fd) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  char text[INET6_ADDRSTRLEN] = "";
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) return "";
  if (own.ss_family == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in&>(own).sin_addr, text, sizeof text);
  else if (own.ss_family == AF_INET6)
    inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6&>(own).sin6_addr, text, sizeof text);
  return text;
}

Error wrong(std::string what) { return {Code::corrupt, std::move(what)}; }

}  // namespace

Server::Server(transport::Loop& loop, ServerOptions options, std::shared_ptr<transport::Arena> arena)
    : loop_(loop), options_(std::move(options)), arena_(std::move(arena)), workers_(options_.workers) {}

Server::~Server() {
  for (const auto timer : {timer_, abandoned_, farewell_}) loop_.cancel(timer);
  for (const auto& peer : peers_) peer->connection->note.reset();  // they own each other
}

Result<std::unique_ptr<Server>> Server::start(transport::Loop& loop, ServerOptions options,
                                              std::shared_ptr<transport::Arena> arena) {
  const auto listen = transport::parse_address(options.listen);
  if (!listen) return listen.error();
  std::unique_ptr<Server> server(new Server(loop, std::move(options), std::move(arena)));
  auto identity = this_process(Role::server, server->options_.shard);
  identity.shards = server->options_.shards;
  auto& settings = server->settings_;
  settings.introduction = wire::encode_identity(identity);
  settings.incarnation = identity.incarnation;
  settings.arena = server->arena_;
  settings.progress = &server->progress_;
  settings.clock = &server->clock_;
  settings.credentials = server->options_.credentials;
  settings.say = server->options_.say;
  auto listener = transport::Listener::open(loop, *listen, settings, *server);
  if (!listener) return listener.error();
  server->listener_ = std::move(*listener);
  if (!server->first()) {
    const auto join = transport::parse_address(server->options_.join);
    if (!join) return join.error();
    const auto fd = transport::dial(*join, settings.credentials, server->options_.deadline);
    if (!fd) return fd.error();
    auto reached = server->listener_->address();
    if (reached.host == "0.0.0.0" || reached.host == "::") reached.host = own_host(*fd);
    identity.listens = to_string(reached);
    auto own = settings;
    own.introduction = wire::encode_identity(identity);
    const auto dialled = transport::adopt(loop, *fd, *join, own, *server);
    dialled->call_peer("server 0 at " + server->options_.join);
    server->dialled_ = dialled.get();
  }
  server->timer_ = loop.after(kTick, [at = server.get()] { at->tick(); });
  return server;
}

std::string Server::address() const { return to_string(listener_->address()); }

Time Server::now() const {
  return std::max(transport::Loop::now(), Time(static_cast<std::int64_t>(clock_.load(std::memory_order_relaxed))));
}

void Server::say(const std::string& text) {
  if (options_.say && !refusing_all_) options_.say(text);
}

Server::Peer* Server::replica(wire::ReplicaId id) const {
  const auto it = replicas_.find(id);
  return it == replicas_.end() ? nullptr : it->second;
}

Server::Peer* Server::server(wire::ShardId shard) const {
  const auto it = servers_.find(shard);
  return it == servers_.end() ? nullptr : it->second;
}

// --- who comes and goes ---

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
      break;
  }
  return {};
}

Status Server::admit_server(Peer& peer) {
  const auto id = peer.identity.id;
  if (!first()) {  // the one that this server dialled
    if (id != 0 || peer.connection.get() != dialled_)
      return Error{Code::refused, "servers talk to the first server, not to each other"};
    if (peer.identity.shards != options_.shards)
      return Error{Code::refused, fmt::format("this is shard {} of {}, but the first server is one of {}",
                                              options_.shard, options_.shards, peer.identity.shards)};
    peer.first_server = true;
    servers_[0] = &peer;
    return {};
  }
  if (!peer.connection->peer_may_serve())
    return Error{Code::refused, "its certificate is not that of a server (`yoke cert new` without --client makes one)"};
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
  if (first() && !identity.numbered) {
    identity.id = 0;
    while (seats_.contains(identity.id)) ++identity.id;
  }
  if (!networks_.empty() && identity.id >= networks_.begin()->second->terms().replicas)
    return Error{Code::refused, fmt::format("the job has {} replicas, and needs no other",
                                            networks_.begin()->second->terms().replicas)};
  if (identity.id >= wire::kMaxMembers)
    return Error{Code::refused, fmt::format("at most {} replicas", wire::kMaxMembers)};
  if (const auto* other = replica(identity.id))
    return Error{Code::refused, fmt::format("replica {} is there already: {}", identity.id, in_words(other->identity))};
  if (first() && seats_.contains(identity.id))
    return Error{Code::refused, fmt::format("replica {} has left this job, and cannot come back", identity.id)};
  replicas_[identity.id] = &peer;
  if (!first()) return {};
  auto& seat = seats_[identity.id];
  seat.where = where_is(identity);
  seat.incarnation = identity.incarnation;
  if (servers_.size() + 1 == options_.shards) welcome(peer);
  return {};
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
  elect();
}

// The lowest number that is not gone. Number 0 is waited for.
void Server::elect() {
  if (!first()) return;
  wire::ReplicaId id = 0;
  while (seats_.contains(id) && seats_.at(id).left) ++id;
  auto* peer = replica(id);
  if (!peer || chief_ == id || !seats_.at(id).welcomed) return;
  if (chief_ && !over()) say(fmt::format("replica {} is the chief from now on", id));
  chief_ = id;
  peer->connection->send(wire::encode(wire::ChiefNow{}));
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

void Server::gone(Peer& peer, const std::string& reason) {
  const auto id = peer.identity.id;
  if (replica(id) == &peer) {
    replicas_.erase(id);
    if (first()) {
      if (!networks_.empty() && id >= networks_.begin()->second->terms().replicas) {
        seats_.erase(id);  // one too many
        return consider_the_end();
      }
      const bool done = over();
      auto& seat = seats_[id];
      seat.left = true;
      seat.well = peer.well;
      seat.gone = done ? "" : reason;
      if (networks_.empty()) say(fmt::format("{} has left: {}", in_words(peer.identity), reason));  // else those say it
      for (const auto& [index, network] : networks_) network->down({id, peer.identity.incarnation}, reason);
      if (id == 0 && !ending_ && !refusing_all_)
        for (const auto& [index, network] : networks_)
          if (!network->initialised()) {
            refuse_all(kNoChief + reason);
            end(Error{Code::peer_down, kNoChief + reason});
            break;
          }
      elect();
      consider_the_end();
    }
  } else if (server(id) == &peer) {
    servers_.erase(id);
    if (ending_ || over()) return;
    const auto lost =
        fmt::format("{} was lost, and with it a part of the parameters: {}", in_words(peer.identity), reason);
    refuse_all(lost);
    end(Error{Code::peer_down, lost});
  }
}

void Server::on_down(transport::Connection& connection, const transport::Failure& failure) {
  const auto peer = std::static_pointer_cast<Peer>(connection.note);
  connection.note.reset();
  if (!peer) {
    if (&connection == dialled_ && !ending_) end(Error{Code::peer_down, failure.text});
    return;
  }
  peers_.erase(peer);
  if (!peer->left) {
    peer->left = true;
    gone(*peer, failure.text);
  }
  if (ending_ && peers_.empty()) ended();
}

// Training is over, as the first network counts.
bool Server::over() const {
  const auto it = networks_.find(0);
  return it != networks_.end() && it->second->sequencer() && it->second->sequencer()->done();
}

void Server::consider_the_end() {
  if (!first() || ending_ || !replicas_.empty() || networks_.empty()) return;
  if (over()) return end({});
  // Others may still be on their way.
  const bool all_came = seats_.size() >= networks_.begin()->second->terms().replicas;
  loop_.cancel(abandoned_);
  abandoned_ = loop_.after(all_came ? Duration::zero() : Duration(kOthersMayCome), [this] {
    if (!replicas_.empty() || ending_) return;
    // They had enough: their own decision.
    if (std::all_of(seats_.begin(), seats_.end(), [](const auto& entry) { return entry.second.well; })) return end({});
    end(Error{Code::peer_down, "every replica has left before training was over"});
  });
}

void Server::end(Status status) {
  if (ending_) return;
  ending_ = std::move(status);
  const auto peers = peers_;
  for (const auto& peer : peers) {
    if (!peer->left) peer->connection->send(wire::encode(wire::Leaving{"the job is over"}));
    peer->left = true;
    peer->connection->finish("the job is over");
  }
  if (peers_.empty()) return ended();
  farewell_ = loop_.after(kFarewell, [this] { ended(); });
}

void Server::ended() {
  if (std::exchange(ended_, true)) return;
  if (options_.recorder)
    if (auto written = options_.recorder->flush(); !written) ending_ = written;
  if (options_.ended) options_.ended(*ending_);
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

// --- what they say ---

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
    if (peer->identity.role != Role::replica || peer->identity.id != 0 || network == networks_.end() ||
        network->second->initialised() || message.payload > kMostAtOnce)
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
    progress_.fetch_add(1, std::memory_order_relaxed);
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
  } else if (const auto* news = std::get_if<wire::StepNews>(&message)) {
    status = on(peer, *news);
  } else if (std::holds_alternative<wire::Concluded>(message)) {
    if (chief_ != peer.identity.id) return;  // it was taken for lost, and another is the chief now
    concluded_ = transport::Loop::now();
    for (const auto& [id, other] : replicas_)
      if (other != &peer) other->connection->send(wire::encode(wire::Concluded{}));
  } else if (const auto* stop_now = std::get_if<wire::StopNow>(&message)) {
    for (const auto& [index, network] : networks_) network->stop(stop_now->reason);
  } else {
    status = wrong("something that a server never hears");
  }
  if (!status) refuse(peer, status.error().message);
}

// Null: there is not memory enough.
std::shared_ptr<HostedNetwork> Server::host(wire::Open& open) {
  try {
    auto network = std::make_shared<HostedNetwork>(open.network, options_.shard, open.terms, std::move(open.layout),
                                                   *this, workers_, arena_, options_.recorder);
    return network->ready() ? network : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  } catch (const std::length_error&) {
    return nullptr;
  }
}

Status Server::on(Peer& peer, wire::Open& open) {
  auto it = networks_.find(open.network);
  if (!peer.opened.insert(open.network).second) return wrong("a network that it has opened already");
  if (peer.identity.id >= open.terms.replicas)
    return Error{Code::refused, fmt::format("this is replica {}, but the job has {} (numbered from 0)",
                                            peer.identity.id, open.terms.replicas)};
  if (it == networks_.end()) {
    if (open.network != networks_.size())
      return Error{Code::refused, "every replica attaches the same networks in the same order"};
    if (open.terms.shards != options_.shards)
      return Error{Code::refused, fmt::format("the job is cut for {} shards, but there are {} servers",
                                              open.terms.shards, options_.shards)};
    std::size_t trained = 0;
    for (const auto& slot : open.layout.slots) trained += slot.frozen ? 0 : slot.size();
    if (trained == 0) return Error{Code::invalid_argument, "the network has no parameters to train"};
    auto network = host(open);
    if (!network)
      return Error{Code::unsupported,
                   fmt::format("server {} has no memory for its part of the network: take more servers "
                               "or a smaller model",
                               options_.shard)};
    it = networks_.emplace(open.network, std::move(network)).first;
    for (const auto& [id, seat] : seats_)
      if (!seat.gone.empty()) it->second->down({id, seat.incarnation}, seat.gone);
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
  auto& network = *it->second;
  if (const auto chief = seats_.find(0); chief != seats_.end() && chief->second.left && !network.initialised())
    return Error{Code::peer_down, kNoChief + chief->second.gone};
  peer.connection->grant(2 * network.shard_bytes());
  peer.connection->send(wire::encode(wire::Opened{open.network, peer.identity.id == 0 && !network.initialised()}));
  return {};
}

Status Server::on(Peer& peer, const wire::FirstValues& values, const transport::Bytes& payload) {
  const auto it = networks_.find(values.network);
  if (it == networks_.end() || peer.identity.id != 0 || it->second->initialised())
    return wrong("first values that nobody asked for");
  return it->second->bring(
      values, {reinterpret_cast<const float*>(payload.bytes.data()), payload.bytes.size() / sizeof(float)});
}

Status Server::on(Peer& peer, const wire::FirstValuesDone& done) {
  const auto it = networks_.find(done.network);
  if (it == networks_.end()) return wrong("first values of a network that is not there");
  if (!peer.asked.insert(done.network).second) return wrong("first values that it has already");
  auto& network = *it->second;
  if (peer.identity.id == 0 && !network.initialised()) {
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
  const auto& network = networks_.at(index);
  if (network->hosts())
    for (const auto block : network->plan().of_shard[options_.shard])
      peer.connection->send(wire::encode(wire::FirstValues{index, block, false, 0}),
                            {std::as_bytes(network->first(block).values), network->first(block).keep});
  for (std::uint32_t slot = 0; slot < network->frozen().size(); ++slot) {
    const std::span<const float> values(network->frozen()[slot]);
    for (std::size_t at = 0; at < values.size(); at += wire::FirstValues::kPiece)
      peer.connection->send(
          wire::encode(wire::FirstValues{index, slot, true, at}),
          {std::as_bytes(values.subspan(at, std::min(wire::FirstValues::kPiece, values.size() - at))), network});
  }
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
  if (over() && !over_) over_ = now();
  return {};
}

Status Server::on(Peer& peer, const wire::StepNews& told) {
  if (!first()) return wrong("news for the first server");
  auto news = told;
  news.replica = peer.identity.id;
  auto& seat = seats_[news.replica];
  (news.whole ? seat.work : seat.cut) += news.work_seconds;
  ++(news.whole ? seat.works : seat.cuts);
  if (chief_ && *chief_ != news.replica)
    if (auto* chief = replica(*chief_)) chief->connection->send(wire::encode(news));
  return {};
}

// --- the way out ---

void Server::send(std::uint32_t network, const wire::Address& from, const wire::Address& to,
                  const wire::Message& message) {
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

// --- how it goes ---

void Server::tick() {
  std::uint64_t sum = 0;
  for (const auto& peer : peers_)
    if (peer->identity.role == Role::replica) sum += peer->connection->peer_progress();
  const auto time = transport::Loop::now();
  if (sum != std::exchange(seen_progress_, sum)) {
    progress_.fetch_add(1, std::memory_order_relaxed);
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
  if (options_.recorder) static_cast<void>(options_.recorder->flush());
  timer_ = loop_.after(kTick, [this] { tick(); });
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
  account.servers.push_back({0, where_is(this_process(Role::server, 0)), address(), true});
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
  if (seat.works)
    to.mean_step_seconds = seat.work / static_cast<double>(seat.works);
  else if (seat.cuts)
    to.mean_step_seconds = seat.cut / static_cast<double>(seat.cuts);
  if (peer)
    to.last_heard_seconds =
        std::chrono::duration<double>(transport::Loop::now() - peer->connection->last_heard()).count();
}

}  // namespace yoke::cluster
