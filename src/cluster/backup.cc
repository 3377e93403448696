#include "cluster/backup.h"

#include <fmt/format.h>

#include <utility>

#include "cluster/terms.h"
#include "cluster/wrong.h"

namespace yoke::cluster {
namespace {

SlicePiece piece_of(const wire::Piece& what, transport::Bytes payload) {
  return {what,
          {reinterpret_cast<const float*>(payload.bytes.data()), payload.bytes.size() / sizeof(float)},
          std::move(payload.keep)};
}

}  // namespace

Backup::Backup(transport::Loop& loop, Workers& workers, wire::ShardId shard,
               std::function<void(std::uint32_t, wire::Version)> has)
    : loop_(loop), workers_(workers), shard_(shard), has_(std::move(has)) {}

std::shared_ptr<Backup::Network> Backup::open(const wire::Open& open) {
  auto network = std::make_shared<Network>();
  network->open = open;
  network->plan = core::plan_blocks(open.layout, open.terms.shards);
  if (shard_ < network->plan.shards())
    network->store = std::make_unique<ShardStore>(network->plan, network->open.layout.groups, shard_,
                                                  update_options(open.terms), [arena = arena_](std::size_t bytes) {
                                                    auto memory = arena->allocate(bytes);
                                                    return memory ? memory : own_memory(bytes);
                                                  });
  networks_[open.network] = network;
  return network;
}

Status Backup::hear(wire::JobMessage message, transport::Bytes payload) {
  if (over_) return {};
  if (auto* opens = std::get_if<wire::Open>(&message)) {
    if (opens->terms.shards <= shard_) return wrong("a network that is cut for other servers");
    if (opens->network > networks_.size()) return wrong("a network before those before it");
    open(*opens);
    return {};
  }
  const auto index = wire::network_of(message);
  const auto it = index ? networks_.find(*index) : networks_.end();
  if (it == networks_.end() || !it->second->store) return wrong("something about a network that is not there");
  const auto network = it->second;
  const auto& layout = network->open.layout;
  if (const auto* piece = std::get_if<wire::Piece>(&message)) {
    if (piece->slot >= layout.slots.size()) return wrong("a piece of no slot");
    (layout.slots[piece->slot].frozen ? network->frozen : network->slice)
        .push_back(piece_of(*piece, std::move(payload)));
  } else if (auto* mean = std::get_if<wire::Mean>(&message)) {
    const auto& plan = network->plan;
    if (mean->block >= plan.blocks.size() || plan.blocks[mean->block].shard != shard_ ||
        (!payload.bytes.empty() && payload.bytes.size() != plan.blocks[mean->block].size * sizeof(float)))
      return wrong("a mean of another size than its block");
    auto& means = network->means[mean->version];
    std::erase_if(means, [&](const auto& other) { return other.what.block == mean->block; });  // it was made again
    means.push_back({*mean, std::move(payload)});
  } else if (auto* done = std::get_if<wire::PiecesDone>(&message)) {
    if (!network->slice.empty()) return load(*network, done->of, done->standing);
    if (network->means[done->of].size() != network->plan.of_shard[shard_].size())
      return wrong(fmt::format("version {} without all of its means", done->of));
    tell(network, core::MeansCame{done->of, std::move(done->standing)});
  } else if (std::holds_alternative<wire::Filled>(message)) {
    tell(network, core::FilledUp{});
  } else {
    return wrong("something that a primary never says to its backup");
  }
  return {};
}

Status Backup::load(Network& network, wire::Version version, const std::optional<wire::Standing>& standing) {
  Inheritance all({});
  for (auto& piece : std::exchange(network.slice, {})) all.add(std::move(piece));
  if (auto filled = all.fill(*network.store, network.plan, shard_, network.open.network); !filled) return filled;
  network.store->start_at(version);
  network.means.erase(network.means.begin(), network.means.upper_bound(version));
  tell(networks_.at(network.open.network), core::SliceCame{version, standing});
  return {};
}

void Backup::go_on_from(const std::map<std::uint32_t, wire::Open>& networks, std::vector<HeldSlice> held) {
  for (auto& one : held) {
    const auto opened = networks.find(one.which.network);
    if (opened == networks.end()) continue;
    const auto network = open(opened->second);
    if (!network->store) continue;
    Inheritance all({});
    for (auto& piece : one.slice.pieces) {
      if (opened->second.layout.slots[piece.what.slot].frozen)
        network->frozen.push_back(piece);
      else
        all.add(std::move(piece));
    }
    if (!all.fill(*network->store, network->plan, shard_, one.which.network)) continue;
    network->store->start_at(one.which.version);
    network->machine = core::Backup(one.which.version, one.which.standing);
  }
}

void Backup::tell(const std::shared_ptr<Network>& network, const core::Event& event) {
  core::Effects effects;
  network->machine.on(event, effects);
  for (const auto& effect : effects) {
    if (const auto* e = std::get_if<core::Acknowledge>(&effect)) has_(network->open.network, e->version);
    if (const auto* e = std::get_if<core::Publish>(&effect)) network->store->publish(e->version);
    if (const auto* e = std::get_if<core::Follow>(&effect)) follow(network, e->version);
  }
}

void Backup::follow(const std::shared_ptr<Network>& network, wire::Version version) {
  auto node = network->means.extract(version);
  const auto means = std::make_shared<std::vector<Network::Arrived>>(std::move(node.mapped()));
  if (!network->store->prepare_next({})) return;  // without memory it does not follow, and the primary says so
  network->passes = means->size();
  for (std::size_t i = 0; i < means->size(); ++i)
    workers_.post([self = shared_from_this(), network, version, means, i, post = loop_.poster()] {
      const auto& [what, values] = (*means)[i];
      core::Reduce pass{what.block, version - 1, {}, what.rate, 1};
      const Part whole{what.whose, reinterpret_cast<const float*>(values.bytes.data()), 1};
      network->store->reduce(pass, {&whole, values.bytes.empty() ? 0u : 1u});
      post([self, network, version] {
        if (--network->passes == 0) self->tell(network, core::Followed{version});
      });
    });
}

std::vector<HeldSlice> Backup::lay_down(std::uint64_t view) {
  std::vector<HeldSlice> held;
  over_ = true;
  for (const auto& [index, network] : networks_) {
    if (!network->store) continue;
    bool present = true;
    for (const auto& [version, standing] : network->machine.holds()) {
      HeldSlice one{{view, index, shard_, network->plan.shards(), version, standing},
                    slice_of(*network->store, network->plan, shard_, index, !std::exchange(present, false))};
      one.slice.standing = standing;
      one.slice.pieces.insert(one.slice.pieces.end(), network->frozen.begin(), network->frozen.end());
      held.push_back(std::move(one));
    }
    core::Effects none;
    network->machine.on(core::LaidDown{}, none);
  }
  return held;
}

std::map<std::uint32_t, wire::Open> Backup::networks() const {
  std::map<std::uint32_t, wire::Open> all;
  for (const auto& [index, network] : networks_) all.emplace(index, network->open);
  return all;
}

}  // namespace yoke::cluster
