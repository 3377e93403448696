#include "cluster/container.h"

namespace yoke::cluster {

Networks Container::networks() const {
  auto networks = kept;
  if (server) networks.insert(server->networks().begin(), server->networks().end());
  return networks;
}

wire::Version Container::version() const {
  const auto all = networks();
  return all.empty() ? 0 : all.begin()->second->version();
}

// Before the first update the servers may not agree yet on whether the values have come: then there is nothing to keep.
void Container::take_back() {
  for (const auto& [index, network] : server->networks()) {
    if (!network->initialised() || network->version() == 0) continue;
    network->keep_values_only();
    kept[index] = network;
  }
  server.reset();
}

}  // namespace yoke::cluster
