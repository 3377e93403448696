// A network's values as they are now, held and not copied: what is trained meanwhile is written elsewhere.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "cluster/hosted_network.h"

namespace yoke::cluster {

struct PinnedValues {
  std::shared_ptr<HostedNetwork> network;
  wire::Version version = 0;
  std::vector<std::pair<wire::BlockId, ShardStore::Values>> blocks;  // that this server hosts
};

PinnedValues pin(std::shared_ptr<HostedNetwork> network);

// All of them, as FirstValues.
void send(transport::Connection& to, const PinnedValues& values);

}  // namespace yoke::cluster
