#include "cluster/coordinator_house.h"

#include <fmt/format.h>

#include <utility>

#include "cluster/identity.h"
#include "wire/codec.h"

namespace yoke::cluster {
namespace {

using wire::Role;

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kProbe = std::chrono::seconds(1);  // for a host to say whether anybody listens
constexpr auto kStoreAgain = std::chrono::milliseconds(500);
constexpr auto kFarewellToAll = std::chrono::seconds(3);  // for all to hear that it is over

}  // namespace

CoordinatorHouse::CoordinatorHouse(transport::Loop& loop, CoordinatorHouseOptions options)
    : loop_(loop), options_(std::move(options)), dialler_(loop, options_.credentials), disk_(1) {}

CoordinatorHouse::~CoordinatorHouse() {
  loop_.cancel(timer_);
  loop_.cancel(farewell_);
}

Result<std::unique_ptr<CoordinatorHouse>> CoordinatorHouse::open(transport::Loop& loop,
                                                                 CoordinatorHouseOptions options) {
  const auto listen = transport::parse_address(options.listen);
  if (!listen) return listen.error();
  std::unique_ptr<CoordinatorHouse> house(new CoordinatorHouse(loop, std::move(options)));
  auto store = open_view_store(house->options_.store);
  if (!store) return store.error();
  house->store_ = std::move(*store);
  auto stored = house->store_->load();
  if (!stored) return stored.error();
  house->revision_ = stored->revision;
  std::optional<wire::ServerView> view;
  if (stored->revision > 0) {
    auto decoded = wire::decode(stored->bytes);
    auto* known = decoded ? std::get_if<wire::ServerView>(&*decoded) : nullptr;
    if (!known)
      return Error{Code::corrupt, fmt::format("{}: what is stored there is no view of a job", house->options_.store)};
    if (known->shards.size() != house->options_.servers && !known->over)
      return Error{
          Code::invalid_argument,
          fmt::format("{}: the job there has {} servers, not {}; give --servers {}, or another --store",
                      house->options_.store, known->shards.size(), house->options_.servers, known->shards.size())};
    if (known->over)
      house->say(fmt::format("{} has a job that is over: this is another", house->options_.store));
    else
      view = std::move(*known);
    if (view) house->say(fmt::format("going on from view {}, as {} has it", view->number, house->options_.store));
  }
  house->machine_.emplace(core::CoordinatorOptions{house->options_.servers, house->options_.backups}, std::move(view));
  auto identity = this_process(Role::coordinator, 0);
  house->settings_.introduction = wire::encode_identity(identity);
  house->settings_.incarnation = identity.incarnation;
  house->settings_.clock = &house->clock_;
  house->settings_.credentials = house->options_.credentials;
  house->settings_.say = house->options_.say;
  auto listener = transport::Listener::open(loop, *listen, house->settings_, *house);
  if (!listener) return listener.error();
  house->listener_ = std::move(*listener);
  house->timer_ = loop.after(kTick, [self = house.get()] { self->tick(); });
  return house;
}

void CoordinatorHouse::tick() {
  tell(core::Tick{});
  timer_ = loop_.after(kTick, [this] { tick(); });
}

void CoordinatorHouse::tell(const core::CoordinatorEvent& event) {
  core::CoordinatorEffects effects;
  machine_->on(event, transport::Loop::now(), effects);
  for (const auto& effect : effects) {
    if (const auto* stores = std::get_if<core::Store>(&effect)) {
      store(stores->view);
    } else if (const auto* view = std::get_if<core::TellView>(&effect)) {
      if (const auto it = servers_.find(view->to); it != servers_.end()) it->second->send(wire::encode(view->view));
    } else if (const auto* recall = std::get_if<core::TellRecall>(&effect)) {
      if (const auto it = servers_.find(recall->to); it != servers_.end())
        it->second->send(wire::encode(recall->recall));
    } else if (const auto* wanted = std::get_if<core::Probe>(&effect)) {
      probe(wanted->host);
    } else if (const auto* lost = std::get_if<core::GiveUp>(&effect)) {
      give_up(lost->why);
    } else if (const auto* says = std::get_if<core::CoordinatorSays>(&effect)) {
      say(says->text);
    }
  }
  const auto& now = machine_->view();
  if (now && now->over && !ending_) return end({});
  if (!machine_->forming())
    for (auto& [connection, guest] : guests_)
      if (guest.asks) answer(guest);
}

void CoordinatorHouse::store(const wire::ServerView& view) {
  disk_.post([this, view, revision = revision_, post = loop_.poster()] {
    const auto saved = store_->save(wire::encode(view), revision);
    post([this, view, saved] {
      if (saved) {
        revision_ = *saved;
        return tell(core::Stored{});
      }
      if (saved.error().code == Code::refused) return tell(core::Stored{false, saved.error().message});
      // The steps do not wait for it: it is tried until it can be had.
      say(fmt::format("view {} cannot be stored: {}", view.number, saved.error().message));
      loop_.after(kStoreAgain, [this, view] { store(view); });
    });
  });
}

// Somebody else may listen there by now: who it is, the handshake says.
void CoordinatorHouse::probe(const wire::Host& host) {
  const auto [it, first] = probed_.emplace(host.life, transport::Loop::now());
  if (!first) return;
  dialler_.dial(host.listens, Duration::zero(), kProbe, [this, host](const Result<int>& fd) {
    if (!fd) {
      probed_.erase(host.life);
      if (fd.error().code == Code::missing)
        tell(core::Departed{host.life, true, fmt::format("the server at {} is gone", host.listens)});
      return;
    }
    const auto connection =
        transport::adopt(loop_, *fd, transport::parse_address(host.listens).or_throw(), settings_, *this);
    probes_[connection.get()] = host.life;
  });
}

void CoordinatorHouse::answer(Guest& guest) {
  const auto& view = machine_->view();
  if (!lost_.empty()) {
    guest.connection->send(wire::encode(wire::Refusal{lost_}));
    return guest.connection->finish(lost_);
  }
  guest.asks = !view || machine_->forming();
  if (guest.asks) return;
  guest.connection->send(wire::encode(wire::Elsewhere{view->number, view->shards.front().primary.listens}));
}

void CoordinatorHouse::give_up(const std::string& why) {
  lost_ = why;
  say(why);
  for (auto& [connection, guest] : guests_)
    if (guest.identity.role == Role::member || guest.asks) guest.connection->send(wire::encode(wire::Refusal{why}));
  end(Error{Code::peer_down, why});
}

void CoordinatorHouse::end(Status status) {
  ending_ = std::move(status);
  farewell_ = loop_.after(kFarewellToAll, [this] {
    if (options_.ended) options_.ended(*ending_);
  });
  if (guests_.empty() && options_.ended) options_.ended(*ending_);
}

// --- transport::Handler ---

void CoordinatorHouse::on_up(transport::Connection& connection, const std::string& introduction) {
  auto identity = wire::decode_identity(introduction);
  if (!identity) return connection.close(identity.error().message);
  if (const auto probe = probes_.extract(&connection); !probe.empty()) {
    const auto life = probe.mapped();
    probed_.erase(life);
    if (identity->incarnation != life) tell(core::Departed{life, true, "another process listens where a server did"});
    return connection.close("it was only asked who it is");
  }
  connection.call_peer(in_words(*identity));
  if (identity->role == Role::member && !connection.peer_may_serve())
    return connection.close("its certificate is not that of a server");
  auto& guest = guests_[&connection] = {connection.shared_from_this(), *identity};
  if (identity->role == Role::member) servers_[identity->incarnation] = guest.connection;
}

Result<transport::Sink> CoordinatorHouse::on_announced(transport::Connection&, const transport::Incoming&) {
  return Error{Code::corrupt, "a payload where none belongs"};
}

void CoordinatorHouse::on_message(transport::Connection& connection, transport::Incoming message, transport::Bytes) {
  const auto it = guests_.find(&connection);
  if (it == guests_.end()) return;
  auto decoded = wire::decode(message.control);
  if (!decoded) return connection.close(decoded.error().message);
  auto& guest = it->second;
  const auto life = guest.identity.incarnation;
  if (auto* ask = std::get_if<wire::AskServers>(&*decoded)) {
    if (guest.identity.role == Role::replica) tell(core::ReplicaSaid{std::move(ask->has)});
    return answer(guest);
  }
  if (std::holds_alternative<wire::AskAccount>(*decoded)) return answer(guest);
  if (std::holds_alternative<wire::Order>(*decoded) && machine_->view()) {
    const auto why = fmt::format("this is the job's coordinator: give orders to its first server, at {}",
                                 machine_->view()->shards.front().primary.listens);
    connection.send(wire::encode(wire::Refusal{why}));
    return connection.finish(why);
  }
  if (guest.identity.role != Role::member) return connection.close("something that only a server says");
  if (auto* attend = std::get_if<wire::Attend>(&*decoded)) {
    if (!lost_.empty()) return connection.send(wire::encode(wire::Refusal{lost_}));
    tell(core::Attended{{life, guest.identity.listens}, std::move(*attend)});
  } else if (const auto* news = std::get_if<wire::BackupNews>(&*decoded)) {
    tell(core::BackupSaid{life, *news});
  } else if (const auto* leaving = std::get_if<wire::Leaving>(&*decoded)) {
    guest.well = true;
    const bool first = machine_->view() && machine_->view()->shards.front().primary.life == life;
    if (!leaving->well && first) say(leaving->reason);
    tell(core::JobOver{life});
  } else {
    connection.close("something that no server says to a coordinator");
  }
}

void CoordinatorHouse::on_down(transport::Connection& connection, const transport::Failure& failure) {
  if (const auto probe = probes_.extract(&connection); !probe.empty()) {
    probed_.erase(probe.mapped());
    return;
  }
  const auto node = guests_.extract(&connection);
  if (node.empty()) return;
  const auto& guest = node.mapped();
  const auto life = guest.identity.incarnation;
  if (const auto it = servers_.find(life); it != servers_.end() && it->second.get() == &connection) {
    servers_.erase(it);
    if (!guest.well) tell(core::Departed{life, false, failure.text});
  }
  if (ending_ && guests_.empty() && options_.ended) options_.ended(*ending_);
}

}  // namespace yoke::cluster
