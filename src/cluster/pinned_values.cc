#include "cluster/pinned_values.h"

#include <algorithm>

#include "wire/codec.h"

namespace yoke::cluster {

PinnedValues pin(std::shared_ptr<HostedNetwork> network) {
  PinnedValues pinned;
  pinned.version = network->version();
  if (network->hosts())
    for (const auto block : network->plan().of_shard[network->shard()])
      pinned.blocks.emplace_back(block, network->first(block));
  pinned.network = std::move(network);
  return pinned;
}

void send(transport::Connection& to, const PinnedValues& values) {
  const auto& network = values.network;
  for (const auto& [block, held] : values.blocks)
    to.send(wire::encode(wire::FirstValues{network->number(), block, false, 0}),
            {std::as_bytes(held.values), held.keep});
  for (std::uint32_t slot = 0; slot < network->frozen().size(); ++slot) {
    const std::span<const float> frozen(network->frozen()[slot]);
    for (std::size_t at = 0; at < frozen.size(); at += wire::FirstValues::kPiece)
      to.send(wire::encode(wire::FirstValues{network->number(), slot, true, at}),
              {std::as_bytes(frozen.subspan(at, std::min(wire::FirstValues::kPiece, frozen.size() - at))), network});
  }
}

}  // namespace yoke::cluster
