#include "launch/post.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "launch/job_keys.h"
#include "launch/own_address.h"
#include "launch/scratch.h"

namespace yoke::launch {
namespace {

constexpr std::chrono::milliseconds kLookForFirst{200};

// Two ranks that were asked for different roles would wait for processes that nobody starts.
std::string in_words(const RolesAsked& asked) {
  const auto number = [](const std::optional<std::uint32_t>& value) { return value ? std::to_string(*value) : "-"; };
  return fmt::format("{}, --replicas {}, --servers {}, --servers-per-node {}, --server-nodes {}",
                     asked.mirrored ? "mirrored" : "central", number(asked.replicas), number(asked.servers),
                     number(asked.servers_per_node), asked.server_nodes);
}

// What a rank says in the first round.
struct Hello {
  std::string node, asked;
  std::string sockets;  // rank 0
  JobKeys keys;         // rank 0
};

std::string to_text(const Hello& hello) {
  return nlohmann::json{{"node", hello.node},          {"asked", hello.asked}, {"sockets", hello.sockets},
                        {"secret", hello.keys.secret}, {"ca", hello.keys.ca},  {"cert", hello.keys.certificate},
                        {"key", hello.keys.key}}
      .dump();
}

Result<Hello> from_text(std::uint32_t rank, const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  Hello hello;
  const auto read = [&](const char* name, std::string& to) {
    const bool is = json.is_object() && json.contains(name) && json[name].is_string();
    if (is) to = json[name];
    return is;
  };
  if (read("node", hello.node) && read("asked", hello.asked) && read("sockets", hello.sockets) &&
      read("secret", hello.keys.secret) && read("ca", hello.keys.ca) && read("cert", hello.keys.certificate) &&
      read("key", hello.keys.key))
    return hello;
  return Error{Code::corrupt, fmt::format("what rank {} said at the meeting is not of this version of Yoke", rank)};
}

}  // namespace

Result<std::unique_ptr<Post>> Post::take(const Lookup& lookup, const Place& place, const PostAsked& asked,
                                         const Waiting& waiting) {
  std::unique_ptr<Post> post(new Post(place, asked));
  Status ready;
  if (place.kind == Place::Kind::none) {
    ready = post->settle({place.node});
    post->sockets_ = asked.scratch;
  } else if (place.kind == Place::Kind::kubernetes) {  // a pod is a host of its own, and all else is in the environment
    std::vector<std::string> pods;
    for (std::uint32_t rank = 0; rank < place.ranks; ++rank) pods.push_back(std::to_string(rank));
    ready = post->settle(pods);
  } else {
    ready = post->meet_others(lookup, waiting);
  }
  if (!ready) return ready.error();
  return post;
}

Status Post::settle(const std::vector<std::string>& nodes) {
  auto roles = assign_roles(nodes, asked_.roles);
  if (!roles) return roles.error();
  roles_ = std::move(*roles);
  return {};
}

Status Post::meet_others(const Lookup& lookup, const Waiting& waiting) {
  // The job's keys pass through the memory of this process; so it leaves no core files.
  prctl(PR_SET_DUMPABLE, 0);
  auto meeting = meet(lookup, place_, asked_.folder);
  if (!meeting) return meeting.error();
  meeting_ = std::move(*meeting);
  Hello own{.node = place_.node, .asked = in_words(asked_.roles)};
  // Made before it is known whether there are several nodes: a second round would cost more than keys do.
  const bool brings_keys = place_.rank == 0 && !has_own_keys(lookup);
  if (place_.rank == 0) own.sockets = asked_.scratch;
  if (brings_keys) {
    auto keys = make_job_keys(asked_.scratch);
    if (!keys) return keys.error();
    own.keys = std::move(*keys);
  }
  auto said = meeting_->exchange(to_text(own), waiting);
  if (!said) return said.error();
  std::vector<std::string> nodes;
  Hello first;
  for (std::uint32_t rank = 0; rank < place_.ranks; ++rank) {
    auto hello = from_text(rank, (*said)[rank]);
    if (!hello) return hello.error();
    nodes.push_back(hello->node);
    if (rank == 0) first = *hello;
    if (hello->asked != first.asked)
      return Error{Code::invalid_argument,
                   fmt::format("the ranks were given different flags: rank 0 {}; rank {} {}. Give all the same command",
                               first.asked, rank, hello->asked)};
  }
  if (auto settled = settle(nodes); !settled) return settled;
  if (roles_.nodes == 1) {
    sockets_ = first.sockets;
    return {};
  }
  if (first.keys.secret.empty()) return {};
  auto environment = keep_job_keys(first.keys, asked_.scratch);
  if (!environment) return environment.error();
  environment_ = std::move(*environment);
  return {};
}

bool Post::has_first() const {
  const auto& numbers = asked_.roles.mirrored ? part().replicas : part().servers;
  return std::find(numbers.begin(), numbers.end(), 0u) != numbers.end();
}

std::string Post::host() const { return asked_.host.empty() ? reachable_host() : asked_.host; }

Result<std::string> Post::listen(const std::string& name, const std::string& join) const {
  const bool first = join.empty();
  if (!sockets_.empty()) {
    if (asked_.transport == "tcp") return std::string("tcp:127.0.0.1:0");
    auto path = socket_in(sockets_, name);
    if (!path) return path.error();
    return asked_.transport + ":" + *path;
  }
  if (!place_.first.empty()) return to_string(in_pod(first));
  // Of several addresses, the one with which this host reaches the first is one that the others can reach as well.
  if (!first && asked_.host.empty()) return own_address(join, 1);
  return to_string(transport::Address{.kind = transport::Address::Kind::tcp, .host = host(), .port = "0", .path = ""});
}

// Others reach the first pod by a name, which it need not know itself yet: it listens at its own address.
transport::Address Post::in_pod(bool first) const {
  const auto named = transport::parse_address(place_.first);
  return {
      .kind = transport::Address::Kind::tcp, .host = host(), .port = first && named ? named->port : "0", .path = ""};
}

Result<std::vector<std::string>> Post::listen_replicas(const std::string& join) const {
  const auto& replicas = part().replicas;
  std::vector<std::string> addresses;
  if (!sockets_.empty() && asked_.transport != "tcp") {
    for (const auto replica : replicas) {
      auto address = listen(fmt::format("r{}", replica), join);
      if (!address) return address.error();
      addresses.push_back(std::move(*address));
    }
    return addresses;
  }
  auto own = sockets_.empty() ? host() : "127.0.0.1";
  if (sockets_.empty() && !join.empty() && asked_.host.empty()) {  // as of servers
    const auto towards = own_address(join, 1);
    if (!towards) return towards.error();
    own = transport::parse_address(*towards)->host;
  }
  auto found = free_addresses(own, replicas.size());
  if (found && join.empty() && !place_.first.empty()) found->front() = to_string(in_pod(true));
  return found;
}

Result<std::string> Post::await_first_pod(const Waiting& waiting) const {
  while (!is_known(place_.first)) {
    if (Waiting::Clock::now() >= waiting.deadline)
      return Error{Code::timed_out, fmt::format("YOKE_FIRST={}: that name is not known here: it is HOST:PORT, and the "
                                                "headless service must publish pods that are not ready yet",
                                                place_.first)};
    if (!waiting.pause(kLookForFirst)) return Error{Code::cancelled, "told to stop while waiting for the first pod"};
  }
  return "tcp:" + place_.first;
}

Status Post::announce(const std::string& join, const Waiting& waiting) {
  if (!meeting_) return {};
  auto said = std::exchange(meeting_, nullptr)->exchange(join, waiting);
  return said ? Status() : said.error();
}

Result<std::string> Post::hear(const Waiting& waiting) {
  if (!meeting_) return await_first_pod(waiting);
  // It is over with this: mpirun waits for nobody who is still in it when it ends its ranks.
  auto said = std::exchange(meeting_, nullptr)->exchange("", waiting);
  if (!said) return said.error();
  for (auto& text : *said)
    if (!text.empty()) return std::move(text);
  return Error{Code::peer_down, "no rank said where the first process of the job listens"};
}

}  // namespace yoke::launch
