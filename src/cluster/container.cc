#include "cluster/container.h"

#include <algorithm>
#include <limits>

namespace yoke::cluster {

wire::Version version_of(const Networks& networks) {
  wire::Version version = 0;
  for (const auto& [index, network] : networks) version += network->version();
  return version;
}

Networks Container::networks() const {
  auto networks = kept;
  if (server) networks.insert(server->networks().begin(), server->networks().end());
  return networks;
}

wire::Version Container::version() const { return version_of(networks()); }

bool Container::whole() const {
  const auto now = version();
  const auto past = [now](const auto& entry) { return now > entry.second; };
  return (!torn || now > *torn) && std::all_of(missing.begin(), missing.end(), past);
}

void Container::lost(wire::ShardId shard) {
  const auto now = version();
  if (server && !server->ending())
    torn = std::numeric_limits<wire::Version>::max();  // what is committed until it has ended does not count either
  else if (now > 0 && saved != now && saving != now)
    missing[shard] = now;
}

// Before the first update the servers may not agree yet on whether the values have come: then there is nothing to keep.
// A network of which this server has no part counts no updates here, but belongs to the others.
void Container::take_back() {
  const bool trained = version_of(server->networks()) > 0;
  for (const auto& [index, network] : server->networks()) {
    if (!trained || !network->initialised()) continue;
    network->keep_values_only();
    kept[index] = network;
  }
  server.reset();
  if (torn && *torn > version()) torn = version();
}

}  // namespace yoke::cluster
