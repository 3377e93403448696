// Which rank of a job starts which servers and replicas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::launch {

// What was asked for.
struct RolesAsked {
  bool mirrored = false;                  // no servers: the replicas host the parameters
  std::optional<std::uint32_t> replicas;  // none: one a rank
  std::optional<std::uint32_t> servers;
  std::optional<std::uint32_t> servers_per_node;
  std::uint32_t server_nodes = 0;  // so many nodes, the first, have servers only
};

// What one rank starts, by their numbers.
struct Part {
  std::vector<std::uint32_t> servers, replicas;
  bool operator==(const Part&) const = default;
};

struct Roles {
  std::uint32_t servers = 0, replicas = 0, nodes = 0;
  std::vector<Part> parts;  // by rank
};

// `nodes`: that of every rank. Replicas are spread evenly over the ranks, in their order. Servers go round the nodes
// and are started by the first rank of each; on nodes of their own, all ranks of these start servers, one each unless
// their number is given.
//
// Code::invalid_argument: the numbers do not go together (the message says which would).
Result<Roles> assign_roles(const std::vector<std::string>& nodes, const RolesAsked& asked);

}  // namespace yoke::launch
