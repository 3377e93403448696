// A sequencer driven by hand, for the tests of what it decides and says.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/sequencer.h"

namespace yoke::core {

// A sequencer with its effects sorted into what a test asks for.
struct Bench {
  explicit Bench(SequencerOptions options, std::optional<Standing> from = {})
      : shards(options.shards), sequencer(options, std::move(from)) {}

  void hear(Message message) { on(Received{kSequencer, std::move(message)}); }
  void on(const Event& event) {
    Effects out;
    sequencer.on(event, Time(0), out);
    for (const auto& effect : out) {
      if (const auto* e = std::get_if<Seal>(&effect)) seals.push_back(*e);
      if (const auto* e = std::get_if<Discard>(&effect)) discards.push_back(*e);
      if (const auto* e = std::get_if<Announce>(&effect)) announced.push_back(*e);
      const auto* send = std::get_if<Send>(&effect);
      if (!send) continue;
      if (const auto* m = std::get_if<Assign>(&send->message)) assigned.push_back(*m);
      if (const auto* m = std::get_if<Settled>(&send->message)) settled.push_back(m->verdict);
      if (const auto* m = std::get_if<Turned>(&send->message)) turned.push_back(*m);
      if (const auto* m = std::get_if<Done>(&send->message)) done.push_back(*m);
      if (send->to != shard_at(0)) continue;  // every shard hears the same
      if (const auto* m = std::get_if<Record>(&send->message)) log.push_back(*m);
      if (const auto* m = std::get_if<Scale>(&send->message)) scales.push_back(*m);
      if (const auto* m = std::get_if<Fence>(&send->message)) fences.push_back(m->life);
      if (const auto* m = std::get_if<Forecast>(&send->message)) forecasts.push_back(*m);
    }
  }
  void join(ReplicaId replica, Incarnation life = 1) { hear(Hello{{replica, life}, samples, batch}); }
  void report(const GradientId& gradient, Version base, bool ok = true) {
    for (ShardId shard = 0; shard < shards; ++shard) hear(Report{shard, gradient, base, batch, ok, 1, ok ? "" : "NaN"});
  }
  void reduce(Version version) {
    for (ShardId shard = 0; shard < shards; ++shard) hear(wire::Reduced{shard, version});
  }
  void save(std::uint64_t token) {
    for (ShardId shard = 0; shard < shards; ++shard) hear(PartSaved{shard, token, true, token + shard});
  }
  // The newest assignment of a replica.
  const Assign& work(ReplicaId replica) const {
    const auto it = std::find_if(assigned.rbegin(), assigned.rend(),
                                 [&](const auto& a) { return a.gradient.life.replica == replica; });
    if (it == assigned.rend()) throw std::out_of_range("no work");
    return *it;
  }

  std::uint32_t shards;
  std::uint64_t samples = 100;
  std::uint32_t batch = 2;
  Sequencer sequencer;
  std::vector<Assign> assigned;
  std::vector<Verdict> settled;
  std::vector<Turned> turned;
  std::vector<Done> done;
  std::vector<Record> log;
  std::vector<Scale> scales;
  std::vector<Life> fences;
  std::vector<Forecast> forecasts;
  std::vector<Seal> seals;
  std::vector<Discard> discards;
  std::vector<Announce> announced;
};

}  // namespace yoke::core
