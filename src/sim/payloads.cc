#include "sim/payloads.h"

#include <fmt/format.h>

#include "history/tally.h"

namespace yoke::sim {

wire::Ticket Payloads::arrive(Payload payload) {
  payloads_.emplace(next_, std::move(payload));
  return next_++;
}

Payloads::Payload& Payloads::find(wire::Ticket ticket, wire::ShardId shard, const char* deed) {
  const auto [it, unknown] = payloads_.try_emplace(ticket);
  auto& payload = it->second;
  if (unknown || payload.shard != shard)
    violations_.push_back(fmt::format("shard {} {} ticket {}, which it never got", shard, deed, ticket));
  else if (payload.released)
    violations_.push_back(fmt::format("shard {} {} block {} of {} after letting go of it", shard, deed, payload.block,
                                      history::name(payload.gradient)));
  return payload;
}

const Payloads::Payload& Payloads::use(wire::Ticket ticket, wire::ShardId shard) { return find(ticket, shard, "used"); }

void Payloads::release(wire::Ticket ticket, wire::ShardId shard) { find(ticket, shard, "released").released = true; }

void Payloads::close() {
  for (const auto& [ticket, payload] : payloads_)
    if (!payload.released)
      violations_.push_back(fmt::format("shard {} never let go of block {} of {}", payload.shard, payload.block,
                                        history::name(payload.gradient)));
}

}  // namespace yoke::sim
