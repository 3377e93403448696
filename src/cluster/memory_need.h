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

// Is there room for one more? `container_limit` and `limit` in bytes, 0: none; `others`: what is taken already. The
// error has the figures.
Status afford_network(const wire::Open& open, wire::ShardId shard, const std::string& container,
                      std::uint64_t container_limit, std::uint64_t limit, std::uint64_t others);

}  // namespace yoke::cluster
