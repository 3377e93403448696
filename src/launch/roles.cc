#include "launch/roles.h"

#include <fmt/format.h>

#include <algorithm>

namespace yoke::launch {
namespace {

constexpr std::uint32_t kMostServers = 4096;

// The ranks of every node, the nodes in the order of their first ranks.
std::vector<std::vector<std::uint32_t>> by_node(const std::vector<std::string>& nodes) {
  std::vector<std::string> names;
  std::vector<std::vector<std::uint32_t>> ranks;
  for (std::uint32_t rank = 0; rank < nodes.size(); ++rank) {
    const auto found = std::find(names.begin(), names.end(), nodes[rank]);
    if (found == names.end()) {
      names.push_back(nodes[rank]);
      ranks.push_back({rank});
    } else {
      ranks[static_cast<std::size_t>(found - names.begin())].push_back(rank);
    }
  }
  return ranks;
}

Status check(const RolesAsked& asked, std::size_t nodes) {
  const auto refuse = [](std::string why) { return Error{Code::invalid_argument, std::move(why)}; };
  if (asked.mirrored && asked.servers.value_or(0) > 0)
    return refuse(fmt::format(
        "--servers {}: mirrored has no servers, every replica hosts a slice of the parameters; leave it out, "
        "or use --strategy sync",
        *asked.servers));
  if (asked.mirrored && (asked.servers_per_node || asked.server_nodes > 0))
    return refuse(
        "mirrored has no servers, every replica hosts a slice of the parameters: leave out --servers-per-node and "
        "--server-nodes, or use --strategy sync");
  if (asked.servers && asked.servers_per_node)
    return refuse("--servers and --servers-per-node both say how many servers there are: give one of them");
  if (!asked.mirrored && (asked.servers == 0u || asked.servers_per_node == 0u))
    return refuse(fmt::format("{} 0: sync and async need at least 1; --strategy mirrored needs none",
                              asked.servers ? "--servers" : "--servers-per-node"));
  if (asked.server_nodes > 0 && asked.server_nodes >= nodes)
    return refuse(fmt::format("--server-nodes {}: there {} {} node{}, and the replicas need at least one",
                              asked.server_nodes, nodes == 1 ? "is" : "are", nodes, nodes == 1 ? "" : "s"));
  return {};
}

}  // namespace

Result<Roles> assign_roles(const std::vector<std::string>& nodes, const RolesAsked& asked) {
  const auto ranks = by_node(nodes);
  if (auto checked = check(asked, ranks.size()); !checked) return checked.error();
  Roles roles;
  roles.nodes = static_cast<std::uint32_t>(ranks.size());
  roles.parts.resize(nodes.size());

  std::vector<bool> serves_only(nodes.size(), false);
  for (std::uint32_t node = 0; node < asked.server_nodes; ++node)
    for (const auto rank : ranks[node]) serves_only[rank] = true;
  const auto workers = static_cast<std::uint32_t>(std::count(serves_only.begin(), serves_only.end(), false));
  roles.replicas = asked.replicas.value_or(workers);
  if (roles.replicas == 0 || roles.replicas % workers != 0)
    return Error{
        Code::invalid_argument,
        fmt::format("--replicas {} cannot be spread evenly over {} ranks: leave it out for one replica a rank, "
                    "or take a multiple of {}",
                    roles.replicas, workers, workers)};
  std::uint32_t replica = 0;
  for (std::uint32_t rank = 0; rank < nodes.size(); ++rank)
    for (std::uint32_t i = 0; !serves_only[rank] && i < roles.replicas / workers; ++i)
      roles.parts[rank].replicas.push_back(replica++);

  if (asked.mirrored) return roles;
  const auto own = asked.server_nodes > 0;  // nodes of their own
  const auto serving = own ? asked.server_nodes : roles.nodes;
  const auto fallback = own ? static_cast<std::uint32_t>(nodes.size()) - workers : 1u;
  roles.servers = asked.servers_per_node ? *asked.servers_per_node * serving : asked.servers.value_or(fallback);
  if (roles.servers > kMostServers)
    return Error{Code::invalid_argument,
                 fmt::format("{} servers are too many: at most {}", roles.servers, kMostServers)};
  for (std::uint32_t server = 0; server < roles.servers; ++server) {
    const auto& node = ranks[server % serving];
    roles.parts[own ? node[server / serving % node.size()] : node.front()].servers.push_back(server);
  }
  return roles;
}

}  // namespace yoke::launch
