// A container, as one server has it: a name, values that stay when the clients have gone, and at most one job at a time
// that trains them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/server.h"

namespace yoke::cluster {

// Updates that all of these have behind them here.
wire::Version version_of(const Networks& networks);

struct Container {
  // Memory that is shown to this container's clients and to no others, and their progress.
  std::shared_ptr<transport::Arena> arena = transport::Arena::make();
  std::shared_ptr<std::atomic<std::uint64_t>> progress = std::make_shared<std::atomic<std::uint64_t>>(0);
  Networks kept;
  std::unique_ptr<Server> server;  // the job that is going on; null: none
  std::uint64_t run = 0;           // its number
  Time used{};                     // when a client was last there

  struct Newcomer {
    transport::ConnectionPtr connection;
    std::string introduction;
  };
  std::vector<Newcomer> waiting;          // until the job that is ending has ended
  std::optional<std::uint64_t> next_run;  // likewise; what the first server has begun

  std::optional<wire::Version> saved;   // the version that its file has
  std::optional<wire::Version> saving;  // and the one that is being written
  // What is saved must be of one version on all servers, or what was saved before is worth more. It may not be so after
  // a server has gone unexpectedly, until a later job has got past these versions: jobs begin only with equal parts.
  std::optional<wire::Version> torn;               // the job that was going on lost a server
  std::map<wire::ShardId, wire::Version> missing;  // nobody trained; it is as it was if the same process comes back

  bool doomed = false;                          // it is removed as soon as its job has ended ...
  std::vector<std::function<void()>> removers;  // ... and these are told then

  // Its networks: those of the job, and those that the job has not asked for yet.
  Networks networks() const;
  // Updates that its values have behind them.
  wire::Version version() const;
  // All servers have the same version, as far as can be known here.
  bool whole() const;
  // A server went without having said so.
  void lost(wire::ShardId shard);
  // The job has ended: what it trained stays.
  void take_back();
};

}  // namespace yoke::cluster
