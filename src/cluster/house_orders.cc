// What keepers want, and what the first house passes on to the others of it.
#include <fmt/format.h>

#include <algorithm>

#include "cluster/house.h"
#include "cluster/identity.h"
#include "cluster/memory_need.h"
#include "wire/codec.h"

namespace yoke::cluster {
namespace {

using OrderKind = wire::Order::Kind;

constexpr std::size_t kMostCaptures = 64;
constexpr const char* kNotThere = "it has no such container";

std::string unknown(const std::string& name) {
  return fmt::format("there is no container {}; `yoke containers` lists those that are there", name);
}

}  // namespace

Status House::admit_keeper(transport::Connection& connection, const wire::Identity& identity) {
  guests_[&connection] = {Guest::Kind::keeper, nullptr, identity};
  wire::Welcome welcome;
  welcome.servers.resize(options_.shards);
  if (first())
    for (const auto& [shard, link] : links_) welcome.servers[shard] = link.identity.listens;
  connection.send(wire::encode(std::move(welcome)));
  return {};
}

void House::on_order(transport::Connection& connection, const wire::Identity& keeper, const wire::Order& order) {
  const auto answer = [&](std::string problem) {
    connection.send(wire::encode(wire::OrderDone{order.token, std::move(problem)}));
  };
  // Whoever has only the secret of one container is the keeper of that one.
  if (!keeper.job.empty() && order.container != keeper.job)
    return answer(fmt::format("a keeper of container {} has no say in others", keeper.job));
  if (order.kind == OrderKind::checkpoint || order.kind == OrderKind::drain) return on_order_to_job(connection, order);
  if (!lodges()) return answer("this server hosts one job and has no containers: `yoke serve` has");
  if (order.kind == OrderKind::list) return connection.send(wire::encode(list(order.container)));
  if (order.token == 0) return answer("an order has a token, which is not 0");
  if (order.kind == OrderKind::snapshot && !first()) {
    const Wanted wanted{order.container, order.token};
    if (!asked_.try_emplace(wanted, connection.shared_from_this()).second) return answer("it was asked for already");
    return hand_over(wanted);
  }
  if (!first()) return answer("the first server gives the orders: ask there");
  if (order.kind == OrderKind::stop) {
    if (!order.container.empty()) return answer("the servers are stopped as a whole");
    answer("");
    for (const auto& [shard, link] : links_) link.connection->send(wire::encode(order));
    return stop("the servers were told to end");
  }
  if (orders_.contains(order.token)) return answer("there is an order with this token already");
  const auto it = containers_.find(order.container);
  if (order.kind == OrderKind::remove) {
    const auto clients = it != containers_.end() && it->second.server ? it->second.server->clients() : 0;
    if (clients > 0 && !order.force)
      return answer(fmt::format("container {} has {} client{}: wait until they have gone, or say --force",
                                order.container, clients, clients == 1 ? "" : "s"));
    orders_[order.token].keeper = connection.shared_from_this();
    return remove_everywhere(order.container, order);
  }
  if (it == containers_.end()) return answer(unknown(order.container));
  if (order.kind == OrderKind::save) {
    if (!all_there())
      return answer(
          fmt::format("{} of {} servers are there: all have to save the same version, so nothing is saved until they "
                      "are back",
                      links_.size() + 1, options_.shards));
    orders_[order.token].keeper = connection.shared_from_this();
    return save_everywhere(order.container, order.token);
  }
  if (it->second.version() == 0) return answer(fmt::format("container {} has no values yet", order.container));
  if (!all_there())
    return answer(
        fmt::format("{} of {} servers are there: a snapshot needs all of them", links_.size() + 1, options_.shards));
  // Over the link, behind the last commit and before the next: so it is of the same version everywhere.
  for (const auto& [shard, link] : links_) link.connection->send(wire::encode(order));
  send(connection, order.token, capture(order.container));
}

// About the job that goes on, in a container or without a name.
void House::on_order_to_job(transport::Connection& connection, const wire::Order& order) {
  const auto answer = [keeper = connection.shared_from_this(), token = order.token](const Result<std::string>& result) {
    keeper->send(wire::encode(result ? wire::OrderDone{token, "", *result}
                                     : wire::OrderDone{token, result.error().message, ""}));
  };
  const auto it = containers_.find(order.container);
  if (!first()) return answer(Error{Code::refused, "the first server gives the orders: ask there"});
  if (it == containers_.end()) return answer(Error{Code::refused, unknown(order.container)});
  const auto& server = it->second.server;
  if (!server || server->ending()) return answer(Error{Code::refused, "nothing is being trained now"});
  if (order.kind == OrderKind::checkpoint) return server->checkpoint(answer);
  server->drain(order.replica, "it was drained", answer);
}

void House::checkpoint(const std::string& why) {
  const auto it = containers_.find("");
  if (it == containers_.end() || !it->second.server) return;
  if (!first()) return say("no checkpoint: another process is the first server now, ask there");
  say(fmt::format("a checkpoint is taken: {}", why));
  it->second.server->checkpoint([this](const Result<std::string>& result) {
    if (!result) say(fmt::format("no checkpoint: {}", result.error().message));
  });
}

// The first house passes on what is to be done everywhere; the others say when it is.
void House::on_passed_on(wire::ShardId from, const wire::Order& order) {
  const auto answer = [this, from, token = order.token](const Status& status) {
    if (const auto link = links_.find(from); link != links_.end())
      link->second.connection->send(wire::encode(wire::OrderDone{token, status ? "" : status.error().message}));
  };
  if (first()) {  // another house is being stopped, and takes its part of every container with it
    if (order.kind != OrderKind::stop) return;
    if (const auto link = links_.find(from); link != links_.end()) link->second.leaving = true;
    return stop_jobs(fmt::format("server {} was told to end", from));
  }
  if (order.kind == OrderKind::save) return save(order.container, answer);
  if (order.kind == OrderKind::remove) {
    if (!containers_.contains(order.container)) return answer(Error{Code::missing, kNotThere});
    return remove(order.container, [answer] { answer({}); });
  }
  if (order.kind == OrderKind::stop) return stop("the servers were told to end");
  if (order.kind != OrderKind::snapshot) return;
  if (captures_.size() >= kMostCaptures) captures_.erase(captures_.begin());  // of a keeper who never came
  const Wanted wanted{order.container, order.token};
  captures_[wanted] = capture(order.container);
  hand_over(wanted);
}

// --- saving and removing ---

void House::save_everywhere(const std::string& name, std::uint64_t token) {
  auto& order = orders_[token];
  const wire::Order to_others{OrderKind::save, name, false, token};
  for (const auto& [shard, link] : links_) {
    order.waiting.insert(shard);
    link.connection->send(wire::encode(to_others));
  }
  order.waiting.insert(0);
  save(name, [this, token](const Status& status) { done(token, 0, status ? "" : status.error().message); });
}

// Also where the first server does not have it: another may, from a file that only it could read.
void House::remove_everywhere(const std::string& name, const wire::Order& order) {
  auto& pending = orders_[order.token];
  pending.removes = name;
  pending.waiting.insert(0);
  for (const auto& [shard, link] : links_) {
    pending.waiting.insert(shard);
    link.connection->send(wire::encode(order));
  }
  if (!all_there())
    pending.problem =
        fmt::format("{} of {} servers are there, and it is removed on these: remove it again when the others are back",
                    links_.size() + 1, options_.shards);
  if (!containers_.contains(name)) return done(order.token, 0, kNotThere);
  remove(name, [this, token = order.token] { done(token, 0, ""); });
}

void House::remove(const std::string& name, std::function<void()> then) {
  auto& container = containers_.at(name);
  if (!container.server) {
    erase(name);
    return then();
  }
  container.doomed = true;
  container.removers.push_back(std::move(then));
  for (const auto& newcomer : std::exchange(container.waiting, {}))
    turn_away(*newcomer.connection, "the container was removed");
  container.server->stop("the container was removed");
}

void House::done(std::uint64_t token, wire::ShardId by, const std::string& problem) {
  const auto it = orders_.find(token);
  if (it == orders_.end()) return;
  auto& order = it->second;
  order.waiting.erase(by);
  const bool without = !order.removes.empty() && problem == kNotThere;
  if (without)
    ++order.without;
  else if (!problem.empty())
    order.problem += fmt::format("{}server {}: {}", order.problem.empty() ? "" : "; ", by, problem);
  if (!order.waiting.empty()) return;
  if (order.problem.empty() && order.without == options_.shards) order.problem = unknown(order.removes);
  if (order.keeper) order.keeper->send(wire::encode(wire::OrderDone{token, order.problem}));
  orders_.erase(it);
}

// --- snapshots ---

House::Capture House::capture(const std::string& name) const {
  Capture capture;
  if (const auto it = containers_.find(name); it != containers_.end())
    for (const auto& [index, network] : it->second.networks())
      if (!network->loading()) capture.push_back(pin(network));
  return capture;
}

void House::hand_over(const Wanted& wanted) {
  const auto asked = asked_.find(wanted);
  const auto captured = captures_.find(wanted);
  if (asked == asked_.end() || captured == captures_.end()) return;
  send(*asked->second, wanted.second, captured->second);
  asked_.erase(asked);
  captures_.erase(captured);
}

void House::send(transport::Connection& keeper, std::uint64_t token, const Capture& capture) {
  for (const auto& pinned : capture) {
    const auto& network = *pinned.network;
    keeper.send(wire::encode(wire::Snapshot{network.number(), static_cast<std::uint32_t>(capture.size()),
                                            pinned.version, network.layout(), network.about()}));
    cluster::send(keeper, pinned);
  }
  keeper.send(wire::encode(wire::OrderDone{token, ""}));
}

// --- the list ---

wire::Containers House::list(const std::string& only) const {
  wire::Containers all;
  for (const auto& [name, container] : containers_) {
    if (!only.empty() && name != only) continue;
    wire::ContainerAccount account;
    account.name = name;
    account.running = container.server != nullptr;
    account.clients = container.server ? container.server->clients() : 0;
    account.version = container.version();
    account.saved = container.saved;
    if (account.clients == 0)
      account.idle_seconds = std::chrono::duration<double>(transport::Loop::now() - container.used).count();
    for (const auto& [index, network] : container.networks()) {
      for (const auto& slot : network->layout().slots) account.values += slot.size();
      for (wire::ShardId shard = 0; shard < options_.shards; ++shard)
        account.memory += need_of(network->terms(), network->layout(), network->plan(), shard, account.running);
    }
    all.containers.push_back(std::move(account));
  }
  return all;
}

}  // namespace yoke::cluster
