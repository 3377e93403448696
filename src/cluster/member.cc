#include "cluster/member.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/assembly.h"
#include "cluster/house.h"
#include "cluster/identity.h"
#include "cluster/inquiry.h"
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
    links.rejoin = [this](Links::Lock& lock) { return links.forms ? form_anew(lock) : rejoin(lock); };
    links.committed = [this](std::uint32_t network, wire::Version version) {
      assembly.twins.committed(network, version);
    };
  }

  Status set_out() {
    if (links.one_core) loop_thread.give_way();
    const auto& options = links.options;
    links.forms = !options.listen.empty() && options.terms.strategy == Strategy::mirrored &&
                  options.terms.replicas > 1 &&
                  (options.hosts_of == options.terms.replicas || !options.members.empty());
    if (!options.listen.empty())
      if (auto hosting = host(); !hosting) return hosting;
    Links::Lock lock(links.mutex);
    if (!options.members.empty()) {
      links.life.replica = options.replica.value_or(0);
      return form_anew(lock);
    }
    if (!options.coordinator.empty()) return reach_by_coordinator(lock);
    if (auto reached = reach_servers(lock, options.deadline); !reached || !links.forms) return reached;
    assembly.begin(*links.welcome);
    expect_twin();
    return {};
  }

  // --- where a coordinator knows which servers there are ---

  // The servers may change at any time: then it is asked anew.
  Status reach_by_coordinator(Links::Lock& lock) {
    const auto give_up = transport::Loop::now() + links.options.deadline;
    for (;;) {
      auto reached = find_servers(lock, std::max<Duration>(give_up - transport::Loop::now(), kTryAgain));
      if (reached) reached = reach_servers(lock, kGone);
      if (reached || links.fatal) return reached;
      if (transport::Loop::now() + kTryAgain >= give_up) return reached;
      close_connections(lock, "the servers have changed");
      links.over = false;
      links.wake.wait_for(lock, kTryAgain / 4);
    }
  }

  // Asks the coordinator where the first server is, and of which view.
  Status find_servers(Links::Lock& lock, Duration patience) {
    const auto identity = this_process(wire::Role::replica, links.options.replica.value_or(0));
    const auto where = links.options.coordinator;
    const auto credentials = links.options.credentials;
    wire::AskServers ask;
    for (const auto& [network, cluster] : links.clusters)
      std::ranges::move(cluster->has(), std::back_inserter(ask.has));
    lock.unlock();
    auto answer = inquire(where, identity, ask, credentials, patience);
    lock.lock();
    if (!answer && answer.error().code == Code::refused) links.fatal = answer.error();
    if (!answer)
      return Error{answer.error().code, fmt::format("the coordinator at {} has not said where the servers are: {}",
                                                    where, answer.error().message)};
    const auto* first = std::get_if<wire::Elsewhere>(&*answer);
    if (!first) return Error{Code::corrupt, fmt::format("{} is no coordinator", where)};
    links.options.join = first->address;
    if (std::exchange(links.view, first->view) != first->view) links.welcomed = 0;  // to these servers it is new
    return {};
  }

  // Connects to the first server, is welcomed, and connects to the others. `patience` is for dialling.
  Status reach_servers(Links::Lock& lock, Duration patience) {
    const auto& options = links.options;
    auto identity = this_process(wire::Role::replica, options.replica.value_or(0));
    identity.numbered = options.replica.has_value();
    identity.job = options.container;
    identity.incarnation = std::max(identity.incarnation, links.life.incarnation + 1);  // clocks are set back
    identity.replaces = links.welcomed;
    identity.view = view();
    links.life = {identity.id, identity.incarnation};
    links.servers.resize(1);
    lock.unlock();
    auto first = connect(0, options.join, identity, patience);
    lock.lock();
    if (!first) return first;
    if (auto waited = links.wait(lock, "joining the job", [&] { return links.welcome.has_value(); }); !waited)
      return waited;
    const auto welcome = *links.welcome;
    identity.id = welcome.replica;
    identity.numbered = true;
    links.options.replica = welcome.replica;  // and so it stays, in later lives as well
    links.welcomed = identity.incarnation;
    links.life.replica = welcome.replica;
    links.servers.resize(welcome.servers.size());
    for (wire::ShardId shard = 1; shard < welcome.servers.size(); ++shard) {
      lock.unlock();
      auto connected = connect(shard, welcome.servers[shard], identity, patience);
      lock.lock();
      if (!connected) return connected;
    }
    return links.wait(lock, "connecting to the servers", [&] {
      return std::all_of(links.servers.begin(), links.servers.end(), [](const auto& link) { return link.up; });
    });
  }

  // --- coming back ---

  Status rejoin(Links::Lock& lock) {
    const auto lost = *links.lost;
    const auto give_up = transport::Loop::now() + lost.patience;
    for (;;) {
      const auto back = try_rejoin(lock, std::max<Duration>(give_up - transport::Loop::now(), kTryAgain));
      if (back) return {};
      if (links.fatal) return *links.fatal;
      links.lost = lost;
      links.over = true;
      if (transport::Loop::now() + kTryAgain >= give_up)
        return Error{lost.error.code,
                     fmt::format("{}; it tried to join again for {:.1f} s, in vain: {}", lost.error.message,
                                 std::chrono::duration<double>(lost.patience).count(), back.error().message)};
      links.wake.wait_for(lock, links.options.coordinator.empty() ? kTryAgain : kTryAgain / 4);
    }
  }

  void close_connections(Links::Lock& lock, const char* why) {
    std::vector<transport::ConnectionPtr> former;
    for (auto& link : links.servers) former.push_back(std::move(link.connection));
    links.servers.clear();
    links.welcome.reset();
    links.lost.reset();
    links.news.clear();
    lock.unlock();
    // What was to be sent on these has met its end when this has run: the loop does one thing after the other.
    in_loop([&] {
      for (const auto& connection : former)
        if (connection) connection->close(why);
    });
    lock.lock();
  }

  Status try_rejoin(Links::Lock& lock, Duration patience) {
    close_connections(lock, "this replica joins again");
    links.over = false;
    links.chief = false;
    for (const auto& [network, cluster] : links.clusters) cluster->forget();
    if (!links.options.coordinator.empty())
      if (auto found = find_servers(lock, patience); !found) return found;
    if (auto reached = reach_servers(lock, links.options.coordinator.empty() ? patience : Duration(kGone)); !reached)
      return reached;
    for (const auto& [network, cluster] : links.clusters) {
      if (auto opened = open_on_servers(lock, *cluster); !opened) return opened;
      if (cluster->joined()) cluster->begin_again();
    }
    return {};
  }

  // --- where the replicas host the parameters: the job is formed anew ---

  Status form_anew(Links::Lock& lock) {
    const auto& options = links.options;
    const auto why = links.lost ? links.lost->error.message : "it comes to a job that goes on";
    const auto give_up = transport::Loop::now() + options.deadline;
    for (;;) {
      const auto formed = try_to_form(lock, give_up);
      if (formed) return {};
      if (links.fatal) return *links.fatal;
      if (transport::Loop::now() >= give_up)
        return Error{Code::peer_down,
                     fmt::format("{}; the job could not be formed anew within {:.1f} s: {}", why,
                                 std::chrono::duration<double>(options.deadline).count(), formed.error().message)};
      links.wake.wait_for(lock, kTryAgain / 4);
    }
  }

  Status try_to_form(Links::Lock& lock, Time give_up) {
    auto& options = links.options;
    close_connections(lock, "the job is formed anew");
    assembly.dissolve(lock);
    links.lost.reset();  // that was this member's own doing
    for (const auto& [network, cluster] : links.clusters) cluster->forget();
    const auto view = assembly.agree(lock, give_up);
    if (!view) return view.error();
    const auto own = assembly.place_in(*view);
    options.replica = links.life.replica = view->members[own].replica;
    assembly.adopt(*view);
    auto inherits = assembly.exchange(lock, *view, give_up);
    if (!inherits) return inherits.error();
    options.join = view->members.front().listens;
    options.hosts_shard = own;
    options.hosts_of = static_cast<std::uint32_t>(view->members.size());
    links.welcomed = 0;
    links.chief = false;
    links.over = false;
    assembly.begins();
    auto part = assembly.part(*view, std::move(*inherits));
    lock.unlock();
    auto begun = begin_view(std::move(part));
    lock.lock();
    if (!begun) return begun;
    if (auto reached = reach_servers(lock, kTryAgain); !reached) return reached;
    expect_twin();
    for (const auto& [network, cluster] : links.clusters) {
      const bool joined = cluster->joined();
      cluster->cut_for(options.hosts_of);
      if (auto opened = open_on_servers(lock, *cluster); !opened) return opened;
      if (joined) cluster->begin_again();
    }
    assembly.formed();
    if (own == 0 && options.say)
      options.say(fmt::format("the job is formed anew, with {} of {} replicas, from version {}", view->members.size(),
                              options.terms.replicas, view->networks.front().version));
    return {};
  }

  // Not under the lock.
  Status begin_view(HousePart part) {
    std::optional<int> link;
    if (part.shard != 0) {
      const auto join = transport::parse_address(part.join);
      if (!join) return join.error();
      const auto dialled = transport::dial_once(*join, links.options.credentials, kGone);
      if (!dialled) return dialled.error();
      link = *dialled;
    }
    Status begun;
    in_loop([&] {
      house->take_part(std::move(part));
      begun = house->begin_view(link);
    });
    return begun;
  }

  // The server before this member's own will bring what it makes, to be held twice; under the lock.
  void expect_twin() {
    const auto servers = links.servers.size();
    if (servers < 2) return;
    const auto& before = links.servers[(links.options.hosts_shard + servers - 1) % servers];
    links.loop->post([connection = before.connection] {
      if (connection) connection->grant(kTwinCredit);
    });
  }

  Result<std::unique_ptr<Cluster>> open(std::uint32_t network, const Layout& layout) {
    const auto terms = terms_here();
    std::size_t trained = 0;
    for (const auto& slot : layout.slots) trained += slot.frozen ? 0 : slot.size();
    if (trained == 0) return Error{Code::invalid_argument, "the network has no parameters to train"};
    auto cluster = std::make_unique<RemoteCluster>(links, network, layout, core::plan_blocks(layout, terms.shards));
    if (const auto bytes = cluster->opening(terms); bytes.size() > wire::kMaxControl)
      return Error{Code::unsupported,
                   fmt::format("the network has too many parameters by name: their list has {} bytes "
                               "of at most {}",
                               bytes.size(), wire::kMaxControl)};
    Links::Lock lock(links.mutex);
    links.clusters[network] = cluster.get();
    auto opened = open_on_servers(lock, *cluster);
    if (!opened && links.lost && links.forms) opened = links.rejoin(lock);  // which opens all that there are
    if (!opened) {
      lock.unlock();  // the cluster takes it to go
      return opened.error();
    }
    return std::unique_ptr<Cluster>(std::move(cluster));
  }

  wire::JobTerms terms_here() const {
    auto terms = links.options.terms;
    terms.shards = static_cast<std::uint32_t>(links.servers.size());
    terms.record = links.options.recorder != nullptr;
    // With a coordinator, or when the job is formed anew, replicas answer for what they were told of: it has come then.
    terms.values_follow = links.options.coordinator.empty() && terms.strategy != Strategy::mirrored;
    return terms;
  }

  Status open_on_servers(Links::Lock& lock, RemoteCluster& cluster) {
    std::vector<std::uint64_t> window(links.servers.size());
    for (const auto& block : cluster.plan().blocks) window[block.shard] += 2 * block.size * sizeof(float);
    const auto bytes = cluster.opening(terms_here());
    for (wire::ShardId shard = 0; shard < links.servers.size(); ++shard) {
      links.loop->post([connection = links.servers[shard].connection, credit = window[shard]] {
        if (connection) connection->grant(credit);
      });
      links.send(shard, bytes);
    }
    const auto ready = [&] { return cluster.opened() || cluster.wanted(); };
    for (;;) {
      if (auto waited = links.wait(lock, "opening the network", ready); !waited) return waited;
      if (!cluster.wanted()) return cluster.check_versions();
      if (auto brought = cluster.bring_wanted(lock); !brought) return brought;
    }
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
    // The others are to form the job without it, and at once; one that hangs is to end for all.
    if (links.forms && house && farewell.silence == 0 && !trained()) in_loop([&] { house->shut(); });
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
    const bool over = trained_here();
    links.clusters.clear();
    // A server that lives in this process serves the others until they are through as well.
    if (house && over) links.wake.wait_for(lock, links.options.deadline, [&] { return house_ended; });
  }

  // --- transport::Handler, in the loop's thread ---

  void on_up(transport::Connection& connection, const std::string& introduction) override {
    const auto identity = wire::decode_identity(introduction);
    const std::lock_guard lock(links.mutex);
    if (!present(connection)) return;
    auto& link = links.servers.at(shard_of(connection));
    if (!identity || identity->role != wire::Role::server || identity->id != shard_of(connection)) {
      Error wrong{Code::refused,
                  fmt::format("{} is not server {} of this job", connection.peer(), shard_of(connection))};
      // Where a coordinator says what each of them is, one may not have heard it yet.
      if (identity && identity->role == wire::Role::server && !links.options.coordinator.empty())
        come_again(std::move(wrong), links.options.deadline);
      else
        fail(std::move(wrong));
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
    if (!present(connection)) return Error{Code::cancelled, "a connection of a former life"};
    if (std::holds_alternative<wire::Piece>(*decoded) && house && message.payload % sizeof(float) == 0) {
      links.servers.at(shard_of(connection)).announced = std::move(*decoded);
      return transport::Sink{};
    }
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
      if (!present(connection)) return;
      said = std::exchange(links.servers.at(shard).announced, std::nullopt);
      sunk(links.servers.at(shard));
    }
    if (!said) {
      auto decoded = wire::decode(message.control);
      if (!decoded) return connection.close(decoded.error().message);
      said = std::move(*decoded);
    }
    const std::lock_guard lock(links.mutex);
    if (!present(connection)) return;
    if (auto* news = std::get_if<wire::StepNews>(&*said)) {
      if (links.news.size() < Links::kMostNews) links.news.push_back(*news);
      return;
    }
    if (const auto* piece = std::get_if<wire::Piece>(&*said)) {
      assembly.twins.add({*piece,
                          {reinterpret_cast<const float*>(payload.bytes.data()), payload.bytes.size() / sizeof(float)},
                          std::move(payload.keep)});
      return;
    }
    if (const auto* done = std::get_if<wire::PiecesDone>(&*said)) {
      assembly.twins.whole(*done);
      return connection.send(wire::encode(wire::PiecesHeld{done->network, done->of}));
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
      // Values that went straight to their places are no reason to wake the replica: what they are part of is.
      if (!cluster->received(shard, std::move(*said), std::move(payload)) && !links.quiescing) {
        ++links.values_heard;
        return;
      }
    }
    changed();
  }

  void on_lost(transport::Connection& connection, const transport::Incoming&) override {
    const std::lock_guard lock(links.mutex);
    if (!present(connection)) return;
    auto& link = links.servers.at(shard_of(connection));
    link.announced.reset();
    sunk(link);
    links.wake.notify_all();
  }

  void on_down(transport::Connection& connection, const transport::Failure& failure) override {
    const std::lock_guard lock(links.mutex);
    if (!present(connection)) return;
    auto& link = links.servers.at(shard_of(connection));
    link.down = true;
    link.connection.reset();
    const bool cut = failure.kind == transport::Down::timed_out;
    Error lost{cut ? Code::timed_out : Code::peer_down, fmt::format("{}; a job cannot go on without it", failure.text)};
    const bool over = trained_here();
    if (links.forms && !left && !links.fatal && !link.leaving && !over &&
        (!links.clusters.empty() || !links.options.members.empty())) {
      if (failure.kind != transport::Down::local)
        assembly.over(failure.text, cut ? std::optional(shard_of(connection)) : std::nullopt);
    } else if (links.lost && failure.kind == transport::Down::local) {
      // Closed by this side, so that nothing more is written to the replica's places: it is about to join again.
    } else if (!left && !house && !links.fatal && !link.leaving && failure.kind != transport::Down::local) {
      // The server may have taken this replica for dead, or the path was cut. One that has ended does not answer.
      const bool patient = cut || !links.options.coordinator.empty();
      come_again(std::move(lost), patient ? links.options.deadline : kGone);
    } else if (link.leaving && !links.fatal)
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
  Assembly assembly{links, [this](const std::function<void()>& call) { in_loop(call); }};

  ~Impl() override {
    // The loop first: nothing of the rest is called afterwards.
    loop_thread.stop();
  }

 private:
  static constexpr auto kFarewell = std::chrono::seconds(3);
  static constexpr auto kWhy = std::chrono::seconds(2);   // for the first server's word to come, on a way of its own
  static constexpr auto kGone = std::chrono::seconds(1);  // for a server that closed the connection to answer again
  static constexpr Duration kTryAgain = std::chrono::milliseconds(200);
  static constexpr std::uint64_t kTwinCredit = std::uint64_t{1} << 40;  // what is held is let go of step by step

  std::uint64_t view() const {
    return !links.options.coordinator.empty() ? view_named(links.view)
           : links.forms                      ? std::max(Assembly::kFirstView, assembly.number())
                                              : 0;
  }

  static wire::ShardId shard_of(const transport::Connection& connection) {
    return *std::static_pointer_cast<wire::ShardId>(connection.note);
  }

  // Training is over, as some network of this replica has heard; under the lock.
  bool trained_here() const {
    return std::any_of(links.clusters.begin(), links.clusters.end(),
                       [](const auto& entry) { return entry.second->over(); });
  }
  bool trained() {
    const std::lock_guard lock(links.mutex);
    return trained_here();
  }

  // It is not one of a former life.
  bool present(const transport::Connection& connection) const {
    const auto shard = shard_of(connection);
    return shard < links.servers.size() && links.servers[shard].connection.get() == &connection;
  }

  RemoteCluster* cluster_of(const wire::JobMessage& message) {
    const auto index = wire::network_of(message);
    if (!index) return nullptr;
    const auto it = links.clusters.find(*index);
    return it == links.clusters.end() ? nullptr : it->second;
  }

  // A payload is no longer on its way into the replica's places.
  void sunk(Links::Link& link) { links.sinks -= std::exchange(link.sinking, false); }

  void changed() {
    ++links.changes;
    links.wake.notify_all();
  }

  void come_again(Error why, Duration patience) {
    if (!links.lost) links.lost = {std::move(why), patience};
    links.over = true;
    changed();
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
    own.checkpoints = links.options.checkpoints;
    own.say = links.options.say;
    own.credentials = links.options.credentials;
    own.view = view();
    own.newcomer = !links.options.members.empty();
    if (links.forms) {
      own.twin = (own.shard + 1) % own.shards;
      own.members = &assembly;
      own.lost = [this](const std::string& who) {
        const std::lock_guard lock(links.mutex);
        if (!left) assembly.over(who);
      };
    }
    own.ended = [this](const Status& status) {
      const std::lock_guard lock(links.mutex);
      house_ended = true;
      if (!status && !left) fail(status.error());
      links.wake.notify_all();
    };
    std::optional<Error> problem;
    in_loop([&] {
      auto started = House::open(*links.loop, own);
      if (started) {
        house = std::move(*started);
        assembly.live_in(*house);
      } else
        problem = started.error();
    });
    if (problem) return *problem;
    return {};
  }

  Status connect(wire::ShardId shard, const std::string& where, const wire::Identity& identity, Duration patience) {
    const bool own = house && links.options.hosts_shard == shard;
    int fd = -1;
    Address address;
    if (!own) {
      auto parsed = transport::parse_address(where);
      if (!parsed) return parsed.error();
      address = *parsed;
      auto dialled = transport::dial(address, links.options.credentials, patience);
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
