#include "cluster/house.h"

#include <fmt/format.h>

#include "cluster/container_secrets.h"
#include "cluster/identity.h"
#include "cluster/memory_need.h"
#include "wire/codec.h"

namespace yoke::cluster {

using wire::Role;

namespace {

constexpr auto kPatience = std::chrono::seconds(5);  // for the first house to end the jobs

}  // namespace

House::House(transport::Loop& loop, HouseOptions options)
    : loop_(loop),
      options_(std::move(options)),
      identity_(this_process(Role::server, options_.shard)),
      runs_(identity_.incarnation),
      writer_(lodges() ? 1 : 0),
      workers_(options_.workers) {
  identity_.shards = options_.shards;
  identity_.view = options_.view;
}

House::~House() {
  loop_.cancel(patience_);
  loop_.cancel(save_timer_);
  for (auto& [connection, guest] : guests_) guest.server = nullptr;
}

Result<std::unique_ptr<House>> House::open(transport::Loop& loop, HouseOptions options) {
  const auto listen = transport::parse_address(options.listen);
  if (!listen) return listen.error();
  std::unique_ptr<House> house(new House(loop, std::move(options)));
  auto& settings = house->settings_;
  settings.introduction = wire::encode_identity(house->identity_);
  settings.incarnation = house->identity_.incarnation;
  settings.clock = &house->clock_;
  settings.credentials = house->options_.credentials;
  settings.say = house->options_.say;
  if (house->lodges() && !house->options_.containers->secrets.empty()) {
    auto secrets = secrets_by_container(house->options_.containers->secrets, settings.credentials.secret, settings.say);
    if (!secrets) return secrets.error();
    settings.secret_for = std::move(*secrets);
  }
  if (!house->lodges()) {
    // Whoever comes, comes to this.
    auto& only = house->containers_[""];
    settings.arena = only.arena;
    settings.progress = only.progress.get();
  }
  if (house->lodges() && !house->options_.containers->state.empty()) {
    if (auto loaded = house->load(); !loaded) return loaded.error();
    if (house->first()) house->save_now_and_then();
  }
  house->forming_ = house->options_.newcomer;
  if (!house->lodges() && !house->forming_) {
    auto checkpointer = Checkpointer::open(house->options_.checkpoints, house->first(), house->options_.say);
    if (!checkpointer) return checkpointer.error();
    house->checkpointer_ = std::move(*checkpointer);
  }
  auto listener = transport::Listener::open(loop, *listen, settings, *house);
  if (!listener) return listener.error();
  house->listener_ = std::move(*listener);
  if (house->forming_) return house;
  if (!house->first()) {
    if (auto dialled = house->dial(); !dialled) return dialled.error();
  } else if (!house->lodges()) {
    house->begin("", house->containers_.at(""), ++house->runs_);
  }
  return house;
}

// --- at the door ---

void House::on_up(transport::Connection& connection, const std::string& introduction) {
  const auto identity = wire::decode_identity(introduction);
  if (!identity) return connection.close(connection.peer() + ": " + identity.error().message);
  connection.call_peer(in_words(*identity));
  if (auto received = receive(connection, *identity, introduction); !received) {
    say(fmt::format("{} is refused: {}", in_words(*identity), received.error().message));
    turn_away(connection, received.error().message);
  }
}

void House::turn_away(transport::Connection& connection, const std::string& reason) {
  connection.send(wire::encode(wire::Refusal{reason}));
  connection.finish(reason);
}

Status House::receive(transport::Connection& connection, const wire::Identity& identity,
                      const std::string& introduction) {
  if (identity.role == Role::member) return receive_member(connection, identity, introduction);
  if ((identity.role == Role::server || identity.role == Role::replica) && identity.view != options_.view) {
    // Of a view that is over here, or not yet: it comes again when it has heard of the same one.
    connection.close(
        fmt::format("{} is of view {} of the job, this is view {}", in_words(identity), identity.view, options_.view));
    return {};
  }
  if (identity.role == Role::server) return link_up(connection, identity, introduction);
  if (ending_) return Error{Code::refused, lodges() ? "the servers are being stopped" : "the job is over"};
  if (identity.role == Role::keeper) return admit_keeper(connection, identity);
  auto container = container_for(identity);
  if (!container) return container.error();
  (*container)->used = transport::Loop::now();
  const auto& server = (*container)->server;
  if (forming_) {
    (*container)->waiting.push_back({connection.shared_from_this(), introduction});
    return {};
  }
  if (identity.replaces != 0 && (!server || server->ending()))
    return Error{Code::refused, "the job that it wants to join again is over"};
  if ((*container)->doomed) return Error{Code::refused, "the container is being removed"};
  if (server && !(server->ending() && lodges())) {
    let_in(**container, connection, identity, introduction);
  } else if (identity.role != Role::replica) {
    return Error{Code::refused, fmt::format("nothing is being trained in container {}", identity.job)};
  } else if (!first()) {
    return Error{Code::refused, "a replica comes to the first server first"};
  } else {
    (*container)->waiting.push_back({connection.shared_from_this(), introduction});
    if (!server) begin(identity.job, **container, ++runs_);
  }
  return {};
}

// Whose job it is about; for a replica it is made where there is none.
Result<Container*> House::container_for(const wire::Identity& identity) {
  const auto& name = identity.job;
  if (!lodges() && !name.empty())
    return Error{Code::refused,
                 "this server hosts one job, which has no name: leave out --container, or start `yoke serve`"};
  if (lodges() && name.empty())
    return Error{Code::refused, "these servers host containers: say with --container NAME which"};
  const auto it = containers_.find(name);
  if (it != containers_.end()) return &it->second;
  if (identity.role != Role::replica || !first())
    return Error{Code::refused, fmt::format("there is no container {}", name)};
  if (containers_.size() >= options_.containers->most)
    return Error{Code::refused,
                 fmt::format("there are {} containers, as many as may be (--containers): remove one that "
                             "is not needed (`yoke containers` lists them, `yoke containers rm NAME`)",
                             containers_.size())};
  return &containers_[name];
}

void House::let_in(Container& container, transport::Connection& connection, const wire::Identity& identity,
                   const std::string& introduction) {
  guests_[&connection] = {Guest::Kind::client, container.server.get(), identity};
  connection.belong_to(container.arena, container.progress);
  container.server->on_up(connection, introduction);
}

Result<transport::Sink> House::on_announced(transport::Connection& connection, const transport::Incoming& message) {
  const auto guest = guests_.find(&connection);
  if (guest != guests_.end() && guest->second.kind == Guest::Kind::member)
    return options_.members->on_announced(connection, message);
  if (guest == guests_.end() || !guest->second.server)
    return Error{Code::corrupt, "a payload from somebody who has no business here"};
  return guest->second.server->on_announced(connection, message);
}

void House::on_message(transport::Connection& connection, transport::Incoming message, transport::Bytes payload) {
  const auto guest = guests_.find(&connection);
  if (guest == guests_.end()) return;
  if (guest->second.kind == Guest::Kind::client || guest->second.kind == Guest::Kind::channel) {
    if (guest->second.server) guest->second.server->on_message(connection, std::move(message), std::move(payload));
    return;
  }
  if (guest->second.kind == Guest::Kind::member)
    return options_.members->on_message(connection, std::move(message), std::move(payload));
  auto decoded = wire::decode(message.control);
  if (!decoded) return connection.close(connection.peer() + ": " + decoded.error().message);
  if (guest->second.kind == Guest::Kind::link) return on_link_message(guest->second, std::move(*decoded));
  if (const auto* order = std::get_if<wire::Order>(&*decoded))
    on_order(connection, guest->second.identity, *order);
  else
    turn_away(connection, "a keeper gives orders, and says nothing else");
}

void House::on_down(transport::Connection& connection, const transport::Failure& failure) {
  for (auto& [name, container] : containers_)
    std::erase_if(container.waiting, [&](const auto& newcomer) { return newcomer.connection.get() == &connection; });
  const auto node = guests_.extract(&connection);
  if (node.empty()) {
    if (&connection == dialled_) link_down(connection, failure);
    return;
  }
  const auto& guest = node.mapped();
  if (guest.kind == Guest::Kind::keeper) {
    std::erase_if(asked_, [&](const auto& entry) { return entry.second.get() == &connection; });
    for (auto& [token, order] : orders_)
      if (order.keeper.get() == &connection) order.keeper = nullptr;
    return;
  }
  if (guest.kind == Guest::Kind::member) return options_.members->on_down(connection, failure);
  if (guest.kind == Guest::Kind::link) return link_down(connection, failure);
  if (guest.kind == Guest::Kind::channel) {
    const auto& channel = static_cast<Channel&>(connection);
    const auto it = channels_.find({channel.container(), guest.identity.id});
    if (it != channels_.end() && it->second.get() == &channel) channels_.erase(it);
  }
  if (guest.server) guest.server->on_down(connection, failure);
}

// --- jobs ---

void House::begin(const std::string& name, Container& container, std::uint64_t run) {
  ServerOptions options;
  options.shard = options_.shard;
  options.shards = options_.shards;
  options.container = name;
  options.address = address();
  options.recorder = options_.recorder;
  options.deadline = options_.deadline;
  options.view = options_.view;
  options.twin = options_.twin;
  options.formed = formed_;
  options.lost = options_.lost;
  options.coordinated = options_.coordinated;
  options.backup = backup_;
  options.filled = filled_;
  options.brought = brought_;
  options.to_backup = options_.to_backup;
  options.backup_filled = options_.backup_filled;
  options.inherits = std::move(inherits_);
  options.absent = absent_;
  options.chief = chief_;
  options.tallies = tallies_;
  if (options_.say)
    options.say = [this, prefix = name.empty() ? "" : name + ": "](const std::string& text) { say(prefix + text); };
  if (lodges()) options.afford = [this, name](const wire::Open& open) { return afford(name, open); };
  // Not in the middle of what it does: it is destroyed then.
  options.ended = [this, name, run](const Status& status) {
    loop_.post([this, name, run, status] { over(name, run, status); });
  };
  container.run = run;
  container.server = std::make_unique<Server>(
      std::move(options),
      Premises{loop_, workers_, container.arena, container.progress, clock_, container.kept, checkpointer_.get()});
  if (first()) {
    for (const auto& [shard, link] : links_) announce(name, container, link);
  } else {
    const auto channel = open_channel(container, name, 0);
    announce(name, container, links_.at(0));
    container.server->on_up(*channel, links_.at(0).introduction);
  }
  for (const auto& [connection, introduction] : std::exchange(container.waiting, {}))
    let_in(container, *connection, wire::decode_identity(introduction).or_throw(), introduction);
}

void House::over(const std::string& name, std::uint64_t run, const Status& status) {
  const auto it = containers_.find(name);
  if (it == containers_.end() || !it->second.server || it->second.run != run) return;
  auto& container = it->second;
  for (auto& [connection, guest] : guests_)
    if (guest.server == container.server.get()) guest.server = nullptr;
  container.take_back();
  container.used = transport::Loop::now();
  if (!lodges()) {
    ending_ = status;
    return consider_the_end();
  }
  if (!status) say(fmt::format("{}: {}", name, status.error().message));
  if (container.doomed) {
    const auto removers = std::move(container.removers);
    const auto next = container.next_run;  // the first server has removed it already, and has begun it anew
    erase(name);
    for (const auto& removed : removers) removed();
    if (!ending_ && next && links_.contains(0)) begin(name, containers_[name], *next);
    return consider_the_end();
  }
  const auto next = std::exchange(container.next_run, std::nullopt);
  if (!ending_ && next && links_.contains(0))
    begin(name, container, *next);
  else if (!ending_ && !container.waiting.empty())
    begin(name, container, ++runs_);
  else if (container.kept.empty())
    containers_.erase(it);
  consider_the_end();
}

Status House::afford(const std::string& name, const wire::Open& open) const {
  const auto& limits = *options_.containers;
  std::uint64_t own = 0, others = 0;
  for (const auto& [other, container] : containers_)
    for (const auto& [index, network] : container.networks()) {
      if (other == name && index == open.network) continue;  // what it takes the place of
      (other == name ? own : others) += need_of(*network, container.server != nullptr);
    }
  return afford_network(open, options_.shard, name, {limits.container_memory, own}, {limits.memory, own + others});
}

void House::stop_jobs(const std::string& reason) {
  for (auto& [name, container] : containers_) {
    for (const auto& newcomer : std::exchange(container.waiting, {})) turn_away(*newcomer.connection, reason);
    if (container.server) container.server->stop(reason);
  }
}

// The first house ends the jobs: then its last word is behind the last commit, and all parts are of one version.
void House::stop(const std::string& reason) {
  if (ending_) return;
  ending_ = lodges() ? Status{} : Error{Code::cancelled, reason};
  if (const auto link = links_.find(0); lodges() && !first() && link != links_.end()) {
    link->second.connection->send(wire::encode(wire::Order{wire::Order::Kind::stop}));
    patience_ = loop_.after(kPatience, [this, reason] { stop_jobs(reason); });
  } else {
    stop_jobs(reason);
  }
  consider_the_end();
}

void House::consider_the_end() {
  if (!ending_ || ended_) return;
  for (const auto& [name, container] : containers_)
    if (container.server) return;
  if (lodges() && !options_.containers->state.empty() && !std::exchange(saved_all_, true))
    for (const auto& [name, container] : containers_) {
      // The others save it too: they may go on without this one, and be stopped or killed before it is back.
      if (first() && container.whole() && container.saved != container.version())
        for (const auto& [shard, link] : links_)
          link.connection->send(wire::encode(wire::Order{wire::Order::Kind::save, name}));
      save(name, [this](const Status& saved) {
        if (!saved && saved.error().code != Code::refused) ending_ = saved;
      });
    }
  if (saving_ > 0) return;
  ended_ = true;
  if (options_.ended) options_.ended(*ending_);
}

}  // namespace yoke::cluster
