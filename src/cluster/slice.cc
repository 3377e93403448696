#include "cluster/slice.h"

#include <fmt/format.h>

#include <algorithm>

namespace yoke::cluster {

std::optional<SlicePiece> cut(const SlicePiece& piece, const core::Block& block) {
  if (piece.what.slot != block.slot) return {};
  const auto begin = std::max<std::uint64_t>(piece.what.offset, block.offset);
  const auto end = std::min<std::uint64_t>(piece.what.offset + piece.values.size(), block.offset + block.size);
  if (begin >= end) return {};
  auto part = piece;
  part.what.offset = begin;
  part.values = piece.values.subspan(begin - piece.what.offset, end - begin);
  return part;
}

void Inheritance::add(SlicePiece piece) {
  pieces_[{piece.what.network, piece.what.slot, piece.what.array}].insert_or_assign(piece.what.offset, piece);
}

Status Inheritance::read(std::uint32_t network, SlotId slot, std::uint32_t array, std::uint64_t offset,
                         std::span<float> out) const {
  const auto it = pieces_.find({network, slot, array});
  auto at = offset;
  const auto end = offset + out.size();
  if (it != pieces_.end())
    for (const auto& [begin, piece] : it->second) {
      if (begin > at || at == end) break;
      const auto until = std::min<std::uint64_t>(begin + piece.values.size(), end);
      if (until <= at) continue;
      std::copy_n(piece.values.data() + (at - begin), until - at, out.data() + (at - offset));
      at = until;
    }
  if (at == end) return {};
  return Error{Code::corrupt, fmt::format("the floats {} to {} of slot {} of network {} were handed on by nobody", at,
                                          end, slot, network)};
}

std::uint64_t Inheritance::updates(std::uint32_t network, SlotId slot) const {
  const auto it = pieces_.find({network, slot, 1});
  return it == pieces_.end() || it->second.empty() ? 0 : it->second.begin()->second.what.updates;
}

Slice slice_of(ShardStore& store, const core::BlockPlan& plan, wire::ShardId shard, std::uint32_t network, bool next) {
  Slice slice;
  auto& updates = store.updates();
  auto& memory = updates.memory_of(0);
  for (const auto id : plan.of_shard[shard]) {
    const auto& block = plan.blocks[id];
    const bool later = next && updates.touched(id);
    const auto add = [&](std::uint32_t array, std::span<const float> values, std::shared_ptr<const void> keep) {
      slice.pieces.push_back(
          {{network, 0, block.slot, array, block.offset, memory.updates(id) + later}, values, std::move(keep)});
    };
    auto values = next ? store.next(id) : store.present(id);
    add(0, values.values, std::move(values.keep));
    std::uint32_t array = 0;
    for (auto& held : later ? memory.hold_next(id) : memory.hold(id)) add(++array, held.values, std::move(held.keep));
  }
  return slice;
}

Status Inheritance::fill(ShardStore& store, const core::BlockPlan& plan, wire::ShardId shard,
                         std::uint32_t network) const {
  auto& memory = store.updates().memory_of(0);
  for (const auto id : plan.of_shard[shard]) {
    const auto& block = plan.blocks[id];
    std::vector<float> values(block.size);
    if (auto done = read(network, block.slot, 0, block.offset, values); !done) return done;
    store.initialise(id, values);
    const auto made = updates(network, block.slot);
    if (made == 0) continue;
    std::vector<std::vector<float>> arrays(memory.present(id).size(), std::vector<float>(block.size));
    for (std::uint32_t array = 0; array < arrays.size(); ++array)
      if (auto done = read(network, block.slot, array + 1, block.offset, arrays[array]); !done) return done;
    memory.restore(id, made, arrays);
  }
  return {};
}

}  // namespace yoke::cluster
