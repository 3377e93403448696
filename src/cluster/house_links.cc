#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "cluster/house.h"
#include "cluster/identity.h"
#include "wire/codec.h"

namespace yoke::cluster {
namespace {

using wire::Role;

constexpr auto kDialFirstHouse = std::chrono::seconds(1);

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

}  // namespace

// --- the link ---

// A job without a name does not begin without the first house; one that is to stay may well be there before it.
Status House::dial() {
  const auto join = transport::parse_address(options_.join);
  if (!join) return join.error();
  if (lodges()) {
    dial_again(Duration::zero());
    return {};
  }
  const auto fd = transport::dial(*join, options_.credentials, options_.deadline);
  if (!fd) return fd.error();
  adopt_link(*fd);
  return {};
}

// Dialling blocks, and the loop has others to care for.
void House::dial_again(Duration pause) {
  dialler_ = std::jthread([this, post = loop_.poster(), join = options_.join, credentials = options_.credentials,
                           pause](const std::stop_token& stop) {
    const auto address = transport::parse_address(join);
    std::mutex mutex;
    std::unique_lock lock(mutex);
    const auto rest = [&](Duration time) {
      std::condition_variable_any().wait_for(lock, stop, time, [] { return false; });
    };
    rest(pause);
    while (!stop.stop_requested()) {
      if (const auto fd = transport::dial(*address, credentials, kDialFirstHouse))
        return post([this, fd = *fd] { adopt_link(fd); });
      rest(kDialFirstHouse);  // it may have failed at once
    }
  });
}

std::string House::reached_at(int fd) const {
  if (!options_.advertise.empty()) return options_.advertise;
  auto reached = listener_->address();
  if (reached.host == "0.0.0.0" || reached.host == "::") reached.host = own_host(fd);
  return to_string(reached);
}

void House::adopt_link(int fd) {
  const auto join = transport::parse_address(options_.join).or_throw();
  auto identity = identity_;
  identity.listens = reached_at(fd);
  auto own = settings_;
  own.introduction = wire::encode_identity(identity);
  const auto dialled = transport::adopt(loop_, fd, join, own, *this);
  dialled->call_peer("server 0 at " + options_.join);
  dialled_ = dialled.get();
}

Status House::link_up(transport::Connection& connection, const wire::Identity& identity,
                      const std::string& introduction) {
  const auto refused = [](std::string why) { return Error{Code::refused, std::move(why)}; };
  const auto id = identity.id;
  if (!identity.job.empty()) return refused("a server serves all containers, not one");
  if (!first()) {
    if (id != 0 || &connection != dialled_) return refused("servers talk to the first server, not to each other");
    if (identity.shards != options_.shards)
      return refused(fmt::format("this is shard {} of {}, but the first server is one of {}", options_.shard,
                                 options_.shards, identity.shards));
  } else {
    if (!connection.peer_may_serve())
      return refused("its certificate is not that of a server (`yoke cert new` without --client makes one)");
    if (identity.shards != options_.shards || id == 0 || id >= options_.shards)
      return refused(
          fmt::format("shard {} of {} does not belong to a job with {} servers", id, identity.shards, options_.shards));
    if (const auto other = links_.find(id); other != links_.end())
      return refused(fmt::format("shard {} is served by {} already", id, in_words(other->second.identity)));
  }
  guests_[&connection] = {Guest::Kind::link, nullptr, identity};
  const auto& link = links_[id] = {connection.shared_from_this(), identity, introduction};
  if (const auto lost = lost_.extract(id); !lost.empty() && lost.mapped() == identity.incarnation)
    for (auto& [name, container] : containers_) container.missing.erase(id);
  if (lodges()) say(fmt::format("{} is there", in_words(identity)));
  if (first() && !ending_)
    for (const auto& [name, container] : containers_)
      if (container.server && !container.server->ending()) announce(name, container, link);
  return {};
}

void House::link_down(transport::Connection& connection, const transport::Failure& failure) {
  const auto it = std::find_if(links_.begin(), links_.end(),
                               [&](const auto& entry) { return entry.second.connection.get() == &connection; });
  if (it != links_.end()) {
    if (lodges()) say(fmt::format("{} is gone: {}", in_words(it->second.identity), failure.text));
    const auto shard = it->first;
    for (auto& [name, container] : containers_)
      if (!it->second.leaving || (container.server && !container.server->ending())) container.lost(shard);
    lost_[shard] = it->second.identity.incarnation;
    links_.erase(it);
    std::vector<std::uint64_t> waiting;
    for (const auto& [token, order] : orders_)
      if (order.waiting.contains(shard)) waiting.push_back(token);
    for (const auto token : waiting) done(token, shard, "it is gone");
  }
  const auto channels = channels_;
  for (const auto& [key, channel] : channels)
    if (channel->link().get() == &connection) channel->end(failure);
  if (&connection != dialled_) return;
  dialled_ = nullptr;
  if (ending_ || forming_) return;
  if (lodges()) return dial_again(kDialFirstHouse);  // one that has us still will have noticed by and by
  if (containers_.at("").server) return;             // it hears of its channel's end, and says what that means
  if (formed_ || options_.coordinated) return options_.lost(failure.text);
  ending_ = Error{Code::peer_down, failure.text};
  consider_the_end();
}

// --- what is said over it ---

void House::announce(const std::string& name, const Container& container, const Link& link) const {
  link.connection->send(wire::encode(wire::Enclosed{name, container.run, wire::Enclosed::Kind::begins, {}}));
}

std::shared_ptr<Channel> House::open_channel(Container& container, const std::string& name, wire::ShardId to) {
  const auto& link = links_.at(to);
  auto channel = std::make_shared<Channel>(loop_, link.connection, name, container.run, *this);
  guests_[channel.get()] = {Guest::Kind::channel, container.server.get(), link.identity};
  channels_[{name, to}] = channel;
  return channel;
}

void House::on_link_message(const Guest& guest, wire::JobMessage message) {
  const auto id = guest.identity.id;
  if (auto* enclosed = std::get_if<wire::Enclosed>(&message)) {
    on_enclosed(id, *enclosed);
  } else if (const auto* order = std::get_if<wire::Order>(&message)) {
    on_passed_on(id, *order);
  } else if (const auto* order_done = std::get_if<wire::OrderDone>(&message)) {
    done(order_done->token, id, order_done->problem);
  } else if (const auto* refusal = std::get_if<wire::Refusal>(&message)) {
    if (!ending_ && !lodges()) ending_ = Error{Code::refused, refusal->reason};
    say(fmt::format("{} refuses this server: {}", in_words(guest.identity), refusal->reason));
    consider_the_end();
  } else {
    links_.at(id).connection->close("server " + std::to_string(id) + " said something that no server says");
  }
}

void House::on_enclosed(wire::ShardId from, wire::Enclosed& enclosed) {
  if (enclosed.kind == wire::Enclosed::Kind::begins) return on_begins(from, enclosed);
  const auto it = channels_.find({enclosed.container, from});
  if (it == channels_.end() || it->second->run() != enclosed.run) return;  // of a run that has ended here
  const auto channel = it->second;
  if (enclosed.kind == wire::Enclosed::Kind::ends)
    channel->end({transport::Down::closed, channel->peer() + " has ended the job"});
  else
    on_message(*channel, {std::move(enclosed.said), 0, links_.at(from).identity.incarnation}, {});
}

// On the first: another house takes part. Elsewhere: the first has begun a job.
void House::on_begins(wire::ShardId from, const wire::Enclosed& enclosed) {
  const auto& name = enclosed.container;
  if (name.empty() == lodges())
    return links_.at(from).connection->close(
        "all servers of a set are started alike: with `yoke serve`, or for one job with `yoke server`");
  if (first()) {
    const auto it = containers_.find(name);
    if (it == containers_.end() || !it->second.server || it->second.run != enclosed.run) return;
    const auto channel = open_channel(it->second, name, from);
    it->second.server->on_up(*channel, links_.at(from).introduction);
    return;
  }
  if (ending_) return;
  auto& container = containers_[name];
  if (!container.server) return begin(name, container, enclosed.run);
  container.next_run = enclosed.run;
  container.server->stop("the first server has begun another job");
}

}  // namespace yoke::cluster
