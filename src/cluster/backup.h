// What the backup of a shard has: the values and the optimizer's state of every network, as the primary has them. Turns
// what the primary sends into events for core/backup.h, and its effects into passes. Lives on a loop, whose thread owns
// it; the workers run the passes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/slice.h"
#include "cluster/workers.h"
#include "core/backup.h"
#include "transport/arena.h"
#include "transport/connection.h"
#include "transport/loop.h"

namespace yoke::cluster {

class Backup : public std::enable_shared_from_this<Backup> {
 public:
  // `has` is told which version it has, of which network. `loop` and `workers` outlive it.
  Backup(transport::Loop& loop, Workers& workers, wire::ShardId shard,
         std::function<void(std::uint32_t network, wire::Version version)> has);

  // What the primary says; an error: it makes no sense, and why.
  Status hear(wire::JobMessage message, transport::Bytes payload);
  // It has this already, from the view before: the networks as the primary opened them, and their slices.
  void go_on_from(const std::map<std::uint32_t, wire::Open>& networks, std::vector<HeldSlice> held);
  // From now on it takes nothing more. What it has, where it may take the primary's place: slices of view `view`.
  std::vector<HeldSlice> lay_down(std::uint64_t view);
  // As the primary opened them.
  std::map<std::uint32_t, wire::Open> networks() const;

 private:
  struct Network {
    wire::Open open;
    core::BlockPlan plan;
    std::unique_ptr<ShardStore> store;  // null: this shard has no part of it
    core::Backup machine;
    std::vector<SlicePiece> slice;  // that is on its way
    std::vector<SlicePiece> frozen;
    struct Arrived {
      wire::Mean what;
      transport::Bytes values;
    };
    std::map<wire::Version, std::vector<Arrived>> means;
    std::size_t passes = 0;  // that workers run for the version that is being made
  };

  std::shared_ptr<Network> open(const wire::Open& open);
  Status load(Network& network, wire::Version version, const std::optional<wire::Standing>& standing);
  void tell(const std::shared_ptr<Network>& network, const core::Event& event);
  void follow(const std::shared_ptr<Network>& network, wire::Version version);

  transport::Loop& loop_;
  Workers& workers_;
  const wire::ShardId shard_;
  const std::function<void(std::uint32_t, wire::Version)> has_;
  const std::shared_ptr<transport::Arena> arena_ = transport::Arena::make();
  std::map<std::uint32_t, std::shared_ptr<Network>> networks_;
  bool over_ = false;
};

}  // namespace yoke::cluster
