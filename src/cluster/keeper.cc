#include "cluster/keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <random>

#include "cluster/identity.h"
#include "core/block_plan.h"
#include "transport/endpoint.h"
#include "wire/codec.h"

namespace yoke::cluster {
namespace {

// Nobody else can guess it, and so nobody else gets what is kept for it.
std::uint64_t new_token() {
  std::random_device random;
  std::uint64_t token = 0;
  while (token == 0) token = std::uint64_t{random()} << 32 | random();
  return token;
}

// What the servers answer, gathered in the loop's thread; the caller waits.
class Keeper : public transport::Handler {
 public:
  explicit Keeper(const KeeperOptions& options)
      : options_(options), identity_(this_process(wire::Role::keeper, 0)), thread_("yoke-keeper") {
    identity_.job = options.keeper_of;
  }
  ~Keeper() override { thread_.stop(); }

  // Connects to a server and says this; the first is number 0.
  Status ask(const std::string& where, wire::ShardId shard, const wire::Order& order) {
    const auto address = transport::parse_address(where);
    if (!address) return address.error();
    const auto fd = transport::dial(*address, options_.credentials, options_.deadline);
    if (!fd) return fd.error();
    transport::Settings settings;
    settings.introduction = wire::encode_identity(identity_);
    settings.incarnation = identity_.incarnation;
    settings.credentials = options_.credentials;
    thread_.loop().post([this, fd = *fd, address = *address, settings, shard, order] {
      const auto connection = transport::adopt(thread_.loop(), fd, address, settings, *this);
      connection->note = std::make_shared<wire::ShardId>(shard);
      orders_[shard] = order;
    });
    return {};
  }

  // Until it is so; an answer that is a problem, or silence, ends it.
  Status wait(const std::function<bool()>& until) {
    std::unique_lock lock(mutex_);
    while (!until()) {
      if (problem_) return *problem_;
      const auto seen = heard_;
      if (!wake_.wait_for(lock, options_.deadline, [&] { return until() || problem_ || heard_ != seen; }))
        return Error{Code::timed_out, fmt::format("{} does not answer", options_.at)};
    }
    return {};
  }
  Status wait_for_answers(std::size_t servers) {
    return wait([&] { return done_ == servers; });
  }

  // --- under the lock, or when all is there ---
  std::optional<wire::Containers> containers;
  std::optional<wire::Welcome> welcome;
  std::map<std::uint32_t, NetworkSnapshot> networks;
  std::string result;  // of the order, in words

  // --- transport::Handler ---

  void on_up(transport::Connection& connection, const std::string&) override {
    connection.send(wire::encode(orders_.at(shard_of(connection))));
  }

  Result<transport::Sink> on_announced(transport::Connection& connection, const transport::Incoming& message) override {
    const auto decoded = wire::decode(message.control);
    if (!decoded) return decoded.error();
    const std::lock_guard lock(mutex_);
    const auto* values = std::get_if<wire::FirstValues>(&*decoded);
    const auto it = values ? networks.find(values->network) : networks.end();
    if (it == networks.end()) return Error{Code::corrupt, "values of a network that it has not named"};
    const auto place = place_of(*values, message.payload / sizeof(float), it->second, shard_of(connection));
    if (!place) return place.error();
    ++heard_;
    wake_.notify_all();
    return transport::Sink{std::as_writable_bytes(*place)};
  }

  void on_message(transport::Connection& connection, transport::Incoming message, transport::Bytes payload) override {
    if (!payload.bytes.empty()) return arrived(payload.bytes.size());
    auto decoded = wire::decode(message.control);
    const std::lock_guard lock(mutex_);
    ++heard_;
    wake_.notify_all();
    if (!decoded) return fail(decoded.error());
    if (auto* refusal = std::get_if<wire::Refusal>(&*decoded)) return fail({Code::refused, refusal->reason});
    if (auto* servers = std::get_if<wire::Welcome>(&*decoded)) {
      if (shard_of(connection) == 0) welcome = std::move(*servers);
    } else if (auto* list = std::get_if<wire::Containers>(&*decoded)) {
      containers = std::move(*list);
    } else if (auto* snapshot = std::get_if<wire::Snapshot>(&*decoded)) {
      begin(shard_of(connection), *snapshot);
    } else if (const auto* done = std::get_if<wire::OrderDone>(&*decoded)) {
      if (!done->problem.empty()) return fail({Code::refused, done->problem});
      result = done->result;
      ++done_;
    }
  }

  void on_down(transport::Connection&, const transport::Failure& failure) override {
    const std::lock_guard lock(mutex_);
    fail({Code::peer_down, failure.text});
  }

  // Of values, once all have answered.
  std::uint64_t bytes_here() const { return bytes_here_; }

 private:
  static wire::ShardId shard_of(const transport::Connection& connection) {
    return *std::static_pointer_cast<wire::ShardId>(connection.note);
  }

  void arrived(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_here_ += bytes;
    ++heard_;
    wake_.notify_all();
  }

  // The first word about a network, from whichever server; the others must say the same.
  void begin(wire::ShardId shard, wire::Snapshot& snapshot) {
    const auto shards = static_cast<std::uint32_t>(welcome ? welcome->servers.size() : 1);
    auto [it, fresh] = networks.try_emplace(snapshot.network);
    auto& network = it->second;
    if (!fresh) {
      if (snapshot.version != network.version && shard < plans_.at(snapshot.network).shards())
        fail({Code::refused, fmt::format("the servers have different versions of it: {} and {} (server {})",
                                         network.version, snapshot.version, shard)});
      return;
    }
    network.version = snapshot.version;
    network.layout = std::move(snapshot.layout);
    network.about = std::move(snapshot.about);
    plans_[snapshot.network] = core::plan_blocks(network.layout, shards);
    for (const auto& slot : network.layout.slots) network.values.emplace_back(slot.size());
  }

  Result<std::span<float>> place_of(const wire::FirstValues& values, std::size_t floats, NetworkSnapshot& network,
                                    wire::ShardId shard) {
    const auto& plan = plans_.at(values.network);
    const auto wrong = [] { return Error{Code::corrupt, "values that have no place"}; };
    std::size_t slot = values.block, offset = values.offset;
    if (!values.frozen) {
      if (values.block >= plan.blocks.size() || plan.blocks[values.block].shard != shard) return wrong();
      slot = plan.blocks[values.block].slot;
      offset = plan.blocks[values.block].offset;
      if (plan.blocks[values.block].size != floats) return wrong();
    }
    if (slot >= network.values.size() || offset > network.values[slot].size() ||
        floats > network.values[slot].size() - offset)
      return wrong();
    return std::span(network.values[slot]).subspan(offset, floats);
  }

  void fail(Error error) {
    if (!problem_) problem_ = std::move(error);
    wake_.notify_all();
  }

  const KeeperOptions& options_;
  wire::Identity identity_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<Error> problem_;
  std::uint64_t heard_ = 0, bytes_here_ = 0;
  std::size_t done_ = 0;
  std::map<wire::ShardId, wire::Order> orders_;  // the loop's thread's
  std::map<std::uint32_t, core::BlockPlan> plans_;
  transport::LoopThread thread_;  // last: it uses the rest
};

}  // namespace

Result<std::vector<wire::ContainerAccount>> list_containers(const KeeperOptions& options) {
  Keeper keeper(options);
  if (auto asked = keeper.ask(options.at, 0, {wire::Order::Kind::list, options.container}); !asked)
    return asked.error();
  if (auto waited = keeper.wait([&] { return keeper.containers.has_value(); }); !waited) return waited.error();
  return std::move(keeper.containers->containers);
}

Status give_order(const KeeperOptions& options, wire::Order::Kind kind, bool force) {
  Keeper keeper(options);
  if (auto asked = keeper.ask(options.at, 0, {kind, options.container, force, new_token()}); !asked) return asked;
  return keeper.wait_for_answers(1);
}

Result<std::vector<NetworkSnapshot>> take_snapshot(const KeeperOptions& options) {
  Keeper keeper(options);
  const wire::Order order{wire::Order::Kind::snapshot, options.container, false, new_token()};
  if (auto asked = keeper.ask(options.at, 0, order); !asked) return asked.error();
  if (auto waited = keeper.wait([&] { return keeper.welcome.has_value(); }); !waited) return waited.error();
  const auto servers = keeper.welcome->servers;
  for (wire::ShardId shard = 1; shard < servers.size(); ++shard) {
    if (servers[shard].empty())
      return Error{Code::peer_down, fmt::format("server {} is not there: a snapshot needs all of them", shard)};
    if (auto asked = keeper.ask(servers[shard], shard, order); !asked) return asked.error();
  }
  if (auto waited = keeper.wait_for_answers(servers.size()); !waited) return waited.error();
  // A small network has no part on the last servers, so a part that is missing shows only now.
  std::uint64_t bytes = 0;
  for (const auto& [index, network] : keeper.networks)
    for (const auto& values : network.values) bytes += values.size() * sizeof(float);
  if (keeper.bytes_here() != bytes || bytes == 0)
    return Error{Code::corrupt, fmt::format("a part of container {} is missing on the servers: {} of {} bytes came",
                                            options.container, keeper.bytes_here(), bytes)};
  std::vector<NetworkSnapshot> all;
  for (auto& [index, network] : keeper.networks) all.push_back(std::move(network));
  return all;
}

namespace {

// An order about the job in this container, or the only one; what came of it.
Result<std::string> order_about_job(const KeeperOptions& options, wire::Order order) {
  order.container = options.container;
  order.token = new_token();
  Keeper keeper(options);
  if (auto asked = keeper.ask(options.at, 0, order); !asked) return asked.error();
  if (auto done = keeper.wait_for_answers(1); !done) return done.error();
  return std::move(keeper.result);
}

}  // namespace

Result<std::string> order_checkpoint(const std::string& address, const std::string& container,
                                     const security::Credentials& credentials, Duration deadline) {
  return order_about_job({address, container, container, credentials, deadline},
                         {.kind = wire::Order::Kind::checkpoint});
}

Status order_drain(const std::string& address, const std::string& container, std::uint32_t replica,
                   const security::Credentials& credentials, Duration deadline) {
  const auto done = order_about_job({address, container, container, credentials, deadline},
                                    {.kind = wire::Order::Kind::drain, .replica = replica});
  return done ? Status() : done.error();
}

}  // namespace yoke::cluster
