#include "launch/post.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "launch/job_keys.h"
#include "launch/own_address.h"
#include "launch/scratch.h"

namespace yoke::launch {
namespace {

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

Result<std::string> Post::listen(const std::string& name, const std::string& join) const {
  const bool first = join.empty();
  if (!sockets_.empty()) {
    if (asked_.transport == "tcp") return std::string("tcp:127.0.0.1:0");
    auto path = socket_in(sockets_, name);
    if (!path) return path.error();
    return asked_.transport + ":" + *path;
  }
  if (first && !place_.first.empty()) return "tcp:" + place_.first;
  // Of several addresses, the one with which this host reaches the first is one that the others can reach as well.
  if (!first && asked_.host.empty()) return own_address(join, 1);
  return fmt::format("tcp:{}:0", asked_.host.empty() ? reachable_host() : asked_.host);
}

Result<std::string> Post::listen_first() const {
  if (!place_.first.empty()) return "tcp:" + place_.first;
  if (sockets_.empty()) return free_address(asked_.host.empty() ? reachable_host() : asked_.host);
  return asked_.transport == "tcp" ? free_address("127.0.0.1") : listen("r0", "");
}

Status Post::announce(const std::string& join, const Waiting& waiting) {
  if (!meeting_) return {};
  auto said = std::exchange(meeting_, nullptr)->exchange(join, waiting);
  return said ? Status() : said.error();
}

Result<std::string> Post::hear(const Waiting& waiting) {
  if (!meeting_) return "tcp:" + place_.first;
  // It is over with this: mpirun waits for nobody who is still in it when it ends its ranks.
  auto said = std::exchange(meeting_, nullptr)->exchange("", waiting);
  if (!said) return said.error();
  for (auto& text : *said)
    if (!text.empty()) return std::move(text);
  return Error{Code::peer_down, "no rank said where the first process of the job listens"};
}

}  // namespace yoke::launch
