#include "cluster/memory_need.h"

#include <fmt/format.h>

#include "cluster/terms.h"

namespace yoke::cluster {
namespace {

std::string in_bytes(std::uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (size >= 1 << 30) return fmt::format("{:.1f} GiB", size / (1 << 30));
  if (size >= 1 << 20) return fmt::format("{:.1f} MiB", size / (1 << 20));
  return fmt::format("{:.1f} KiB", size / (1 << 10));
}

// At least that, whatever the plan: a list of blocks that nobody can have room for is not even made.
std::uint64_t least_need(const wire::Open& open) {
  std::uint64_t trained = 0;
  for (const auto& slot : open.layout.slots) trained += slot.frozen ? 0 : slot.size();
  return trained / open.terms.shards * sizeof(float);
}

}  // namespace

std::uint64_t need_of(const wire::JobTerms& terms, const Layout& layout, const core::BlockPlan& plan,
                      wire::ShardId shard, bool running) {
  std::uint64_t values = 0, states = 0, frozen = 0;
  if (shard < plan.shards())
    for (const auto id : plan.of_shard[shard]) {
      const auto& block = plan.blocks[id];
      values += block.size;
      states += block.size * kernel::states_of(layout.groups[block.group]);
    }
  if (shard == 0)
    for (const auto& slot : layout.slots) frozen += slot.frozen ? slot.size() : 0;
  const auto update = update_options(terms);
  std::uint64_t floats = values + 2 * states * (update.state_per_replica ? terms.replicas : 1) + frozen;
  if (running) floats += values + 2 * values * terms.replicas;
  if (running && update.delay_compensation != 0) floats += values * terms.replicas;
  return floats * sizeof(float);
}

std::uint64_t need_of(const HostedNetwork& network, bool running) {
  return need_of(network.terms(), network.layout(), network.plan(), network.shard(), running);
}

Status afford_network(const wire::Open& open, wire::ShardId shard, const std::string& container, Room own, Room all) {
  if (own.limit == 0 && all.limit == 0) return {};
  const auto too_much = [&](std::uint64_t need, const std::string& why) {
    return Error{Code::refused,
                 fmt::format("container {} would take {} of server {}'s memory for this network ({} replicas), {}",
                             container, in_bytes(need), shard, open.terms.replicas, why)};
  };
  const auto judge = [&](std::uint64_t need) -> Status {
    if (!own.has(need))
      return too_much(need, fmt::format("{}and may have {} (--container-memory): take a smaller model, fewer replicas "
                                        "or more servers",
                                        own.taken ? fmt::format("has {} for its others, ", in_bytes(own.taken)) : "",
                                        in_bytes(own.limit)));
    if (!all.has(need))
      return too_much(need, fmt::format("where the others have {} of {} (--memory): remove a container that is not "
                                        "needed, or take a smaller model, fewer replicas or more servers",
                                        in_bytes(all.taken), in_bytes(all.limit)));
    return {};
  };
  if (auto possible = judge(least_need(open)); !possible) return possible;
  return judge(need_of(open.terms, open.layout, core::plan_blocks(open.layout, open.terms.shards), shard, true));
}

}  // namespace yoke::cluster
