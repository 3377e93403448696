// How much memory a network takes on one server, reckoned before any of it is taken.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/hosted_network.h"

namespace yoke::cluster {

// In bytes: two versions of the values, the optimizer's state, what is frozen, and the gradients that replicas may have
// under way. `running`: with those; else what stays when they have gone.
std::uint64_t need_of(const wire::JobTerms& terms, const Layout& layout, const core::BlockPlan& plan,
                      wire::ShardId shard, bool running);
std::uint64_t need_of(const HostedNetwork& network, bool running);

// In bytes.
struct Room {
  std::uint64_t limit = 0;  // 0: none
  std::uint64_t taken = 0;  // already, by other networks
  bool has(std::uint64_t need) const { return limit == 0 || (taken <= limit && need <= limit - taken); }
};

// Is there room for one more, in its container and among all? The error has the figures.
Status afford_network(const wire::Open& open, wire::ShardId shard, const std::string& container, Room own, Room all);

}  // namespace yoke::cluster
