#include "cluster/member.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/house.h"
#include "cluster/identity.h"
#include "cluster/member_links.h"
#include "cluster/remote_cluster.h"
#include "transport/endpoint.h"
#include "transport/inproc.h"
#include "wire/codec.h"
#include "wire/frame.h"

namespace yoke::cluster {

using transport::Address;

class Member::Impl : public transport::Handler {
 public:
  explicit Impl(MemberOptions options) {
    links.options = std::move(options);
    links.arena = transport::Arena::make();
    links.loop = &loop_thread.loop();
    links.servers.resize(1);
  }

  Status set_out() {
    const auto& options = links.options;
    auto identity = this_process(wire::Role::replica, options.replica.value_or(0));
    identity.numbered = options.replica.has_value();
    identity.job = options.container;
    links.life = {identity.id, identity.incarnation};
    if (!options.listen.empty())
      if (auto hosting = host(); !hosting) return hosting;
    if (auto first = connect(0, options.join, identity); !first) return first;
    Links::Lock lock(links.mutex);
    if (auto waited = links.wait(lock, "joining the job", [&] { return links.welcome.has_value(); }); !waited)
      return waited;
    const auto welcome = *links.welcome;
    identity.id = welcome.replica;
    identity.numbered = true;
    links.life.replica = welcome.replica;
    links.servers.resize(welcome.servers.size());
    lock.unlock();
    for (wire::ShardId shard = 1; shard < welcome.servers.size(); ++shard)
      if (auto connected = connect(shard, welcome.servers[shard], identity); !connected) return connected;
    lock.lock();
    return links.wait(lock, "connecting to the servers", [&] {
      return std::all_of(links.servers.begin(), links.servers.end(), [](const auto& link) { return link.up; });
    });
  }

  Result<std::unique_ptr<Cluster>> open(std::uint32_t network, const Layout& layout) {
    auto terms = links.options.terms;
    terms.shards = static_cast<std::uint32_t>(links.servers.size());
    terms.record = links.options.recorder != nullptr;
    std::size_t trained = 0;
    for (const auto& slot : layout.slots) trained += slot.frozen ? 0 : slot.size();
    if (trained == 0) return Error{Code::invalid_argument, "the network has no parameters to train"};
    auto cluster = std::make_unique<RemoteCluster>(links, network, layout, core::plan_blocks(layout, terms.shards));
    const auto bytes = wire::encode(wire::Open{network, terms, layout, links.options.about});
    if (bytes.size() > wire::kMaxControl)
      return Error{Code::unsupported,
                   fmt::format("the network has too many parameters by name: their list has {} bytes "
                               "of at most {}",
                               bytes.size(), wire::kMaxControl)};
    std::vector<std::uint64_t> window(links.servers.size());
    for (const auto& block : cluster->plan().blocks) window[block.shard] += 2 * block.size * sizeof(float);
    Links::Lock lock(links.mutex);
    links.clusters[network] = cluster.get();
    for (wire::ShardId shard = 0; shard < links.servers.size(); ++shard) {
      links.loop->post([connection = links.servers[shard].connection, credit = window[shard]] {
        if (connection) connection->grant(credit);
      });
      links.send(shard, bytes);
    }
    if (auto waited = links.wait(lock, "opening the network", [&] { return cluster->opened(); }); !waited) {
      lock.unlock();  // the cluster takes it to go
      return waited.error();
    }
    if (auto agree = cluster->check_versions(); !agree) {
      lock.unlock();
      return agree.error();
    }
    return std::unique_ptr<Cluster>(std::move(cluster));
  }

  void leave(const std::string& reason, bool well) {
    wire::Leaving farewell{reason, well, 0};
    {
      const std::lock_guard lock(links.mutex);
      if (std::exchange(left, true)) return;
      // Whatever became of it since: the job hangs, and that is why.
      if (links.silent)
        farewell = {links.silent->message, false, std::chrono::duration<double>(links.options.deadline).count()};
    }
    if (links.options.recorder) static_cast<void>(links.options.recorder->flush());
    links.send(0, wire::encode(farewell));
    links.loop->post([this, reason] {
      std::vector<transport::ConnectionPtr> connections;
      {
        const std::lock_guard lock(links.mutex);
        for (const auto& link : links.servers) connections.push_back(link.connection);
      }
      for (const auto& connection : connections)
        if (connection) connection->finish(reason);
    });
    Links::Lock lock(links.mutex);
    links.wake.wait_for(lock, kFarewell, [&] {
      return std::all_of(links.servers.begin(), links.servers.end(),
                         [](const auto& link) { return link.down || !link.connection; });
    });
    const bool over = std::any_of(links.clusters.begin(), links.clusters.end(),
                                  [](const auto& entry) { return entry.second->over(); });
    links.clusters.clear();
    // A server that lives in this process serves the others until they are through as well.
    if (house && over) links.wake.wait_for(lock, links.options.deadline, [&] { return house_ended; });
  }

  // --- transport::Handler, in the loop's thread ---

  void on_up(transport::Connection& connection, const std::string& introduction) override {
    const auto identity = wire::decode_identity(introduction);
    const std::lock_guard lock(links.mutex);
    auto& link = links.servers.at(shard_of(connection));
    if (!identity || identity->role != wire::Role::server || identity->id != shard_of(connection)) {
      fail({Code::refused, fmt::format("{} is not server {} of this job", connection.peer(), shard_of(connection))});
      return;
    }
    link.up = true;
    link.name = in_words(*identity);
    connection.call_peer(link.name);
    changed();
  }

  Result<transport::Sink> on_announced(transport::Connection& connection, const transport::Incoming& message) override {
    auto decoded = wire::decode(message.control);
    if (!decoded) return decoded.error();
    const std::lock_guard lock(links.mutex);
    auto* cluster = cluster_of(*decoded);
    if (!cluster) return Error{Code::corrupt, "values of a network that is not open"};
    auto& link = links.servers.at(shard_of(connection));
    auto sink = cluster->announced(*decoded, message.payload, link.by_pointer);
    link.announced = std::move(*decoded);
    link.sinking = sink && !sink->into.empty();
    links.sinks += link.sinking;
    return sink;
  }

  void on_message(transport::Connection& connection, transport::Incoming message, transport::Bytes payload) override {
    const auto shard = shard_of(connection);
    std::optional<wire::JobMessage> said;
    {
      const std::lock_guard lock(links.mutex);
      said = std::exchange(links.servers.at(shard).announced, std::nullopt);
      sunk(links.servers.at(shard));
    }
    if (!said) {
      auto decoded = wire::decode(message.control);
      if (!decoded) return connection.close(decoded.error().message);
      said = std::move(*decoded);
    }
    const std::lock_guard lock(links.mutex);
    if (auto* news = std::get_if<wire::StepNews>(&*said)) {
      if (links.news.size() < Links::kMostNews) links.news.push_back(*news);
      return;
    }
    if (auto* welcome = std::get_if<wire::Welcome>(&*said)) {
      links.welcome = std::move(*welcome);
    } else if (const auto* refusal = std::get_if<wire::Refusal>(&*said)) {
      fail({Code::refused, refusal->reason});
    } else if (std::holds_alternative<wire::Leaving>(*said)) {
      links.servers.at(shard).leaving = shard != 0;
    } else if (std::holds_alternative<wire::ChiefNow>(*said)) {
      links.chief = true;
    } else if (std::holds_alternative<wire::Concluded>(*said)) {
      links.concluded = true;
    } else if (auto* account = std::get_if<wire::Account>(&*said)) {
      links.account = std::move(*account);
    } else if (auto* cluster = cluster_of(*said)) {
      cluster->received(shard, std::move(*said), std::move(payload));
    }
    changed();
  }

  void on_lost(transport::Connection& connection, const transport::Incoming&) override {
    const std::lock_guard lock(links.mutex);
    auto& link = links.servers.at(shard_of(connection));
    link.announced.reset();
    sunk(link);
    links.wake.notify_all();
  }

  void on_down(transport::Connection& connection, const transport::Failure& failure) override {
    const std::lock_guard lock(links.mutex);
    auto& link = links.servers.at(shard_of(connection));
    link.down = true;
    link.connection.reset();
    Error lost{failure.kind == transport::Down::timed_out ? Code::timed_out : Code::peer_down,
               fmt::format("{}; a job cannot go on without it", failure.text)};
    if (link.leaving && !links.fatal)
      links.loop->after(kWhy, [this, lost = std::move(lost)] {
        const std::lock_guard inner(links.mutex);
        if (!left) fail(lost);
      });
    else if (!left)
      fail(std::move(lost));
    changed();
  }

  transport::LoopThread loop_thread{"yoke-loop"};  // first: the rest lives on it
  Links links;
  bool left = false;
  std::unique_ptr<House> house;
  bool house_ended = false;

  ~Impl() override {
    // The loop first: nothing of the rest is called afterwards.
    loop_thread.stop();
  }

 private:
  static constexpr auto kFarewell = std::chrono::seconds(3);
  static constexpr auto kWhy = std::chrono::seconds(2);  // for the first server's word to come, on a way of its own

  static wire::ShardId shard_of(const transport::Connection& connection) {
    return *std::static_pointer_cast<wire::ShardId>(connection.note);
  }

  RemoteCluster* cluster_of(const wire::JobMessage& message) {
    const auto index = std::visit(
        [](const auto& m) -> std::uint32_t {
          if constexpr (requires { m.network; })
            return m.network;
          else
            return ~0u;
        },
        message);
    const auto it = links.clusters.find(index);
    return it == links.clusters.end() ? nullptr : it->second;
  }

  // A payload is no longer on its way into the replica's places.
  void sunk(Links::Link& link) { links.sinks -= std::exchange(link.sinking, false); }

  void changed() {
    ++links.changes;
    links.wake.notify_all();
  }

  void fail(Error error) {
    if (!links.fatal) links.fatal = std::move(error);
    links.over = true;
    changed();
  }

  transport::Settings settings(const wire::Identity& identity) {
    transport::Settings settings;
    settings.introduction = wire::encode_identity(identity);
    settings.incarnation = identity.incarnation;
    settings.arena = links.arena;
    settings.progress = &links.progress;
    settings.clock = &links.clock;
    settings.credentials = links.options.credentials;
    return settings;
  }

  // Runs in the loop's thread, and waits for it.
  void in_loop(const std::function<void()>& call) {
    bool done = false;
    links.loop->post([&] {
      call();
      const std::lock_guard lock(links.mutex);
      done = true;
      links.wake.notify_all();
    });
    Links::Lock lock(links.mutex);
    links.wake.wait(lock, [&] { return done; });
  }

  Status host() {
    HouseOptions own;
    own.shard = links.options.hosts_shard;
    own.shards = links.options.hosts_of;
    own.listen = links.options.listen;
    own.join = links.options.join;
    own.deadline = links.options.deadline;
    own.recorder = links.options.recorder;
    own.credentials = links.options.credentials;
    own.ended = [this](const Status& status) {
      const std::lock_guard lock(links.mutex);
      house_ended = true;
      if (!status && !left) fail(status.error());
      links.wake.notify_all();
    };
    std::optional<Error> problem;
    in_loop([&] {
      auto started = House::open(*links.loop, own);
      if (started)
        house = std::move(*started);
      else
        problem = started.error();
    });
    if (problem) return *problem;
    return {};
  }

  Status connect(wire::ShardId shard, const std::string& where, const wire::Identity& identity) {
    const bool own = house && links.options.hosts_shard == shard;
    int fd = -1;
    Address address;
    if (!own) {
      auto parsed = transport::parse_address(where);
      if (!parsed) return parsed.error();
      address = *parsed;
      auto dialled = transport::dial(address, links.options.credentials, links.options.deadline);
      if (!dialled) return dialled.error();
      fd = *dialled;
    }
    in_loop([&] {
      transport::ConnectionPtr connection;
      if (own)
        connection =
            transport::connect_inproc(*links.loop, settings(identity), *this, *links.loop, house->settings(), *house)
                .first;
      else
        connection = transport::adopt(*links.loop, fd, address, settings(identity), *this);
      connection->note = std::make_shared<wire::ShardId>(shard);
      const std::lock_guard lock(links.mutex);
      auto& link = links.servers.at(shard);
      link.by_pointer = own || address.kind == Address::Kind::shm;
      link.connection = std::move(connection);
    });
    return {};
  }
};

Result<std::unique_ptr<Member>> Member::join(MemberOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  auto* at = impl.get();
  std::unique_ptr<Member> member(new Member(std::move(impl)));
  if (auto set_out = at->set_out(); !set_out) return set_out.error();
  return member;
}

Member::Member(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Member::~Member() { impl_->leave("it ended", false); }

std::uint32_t Member::replica() const { return impl_->links.life.replica; }

Result<std::unique_ptr<Cluster>> Member::open(std::uint32_t network, const Layout& layout) {
  return impl_->open(network, layout);
}

void Member::leave(const std::string& reason, bool well) { impl_->leave(reason, well); }

}  // namespace yoke::cluster
