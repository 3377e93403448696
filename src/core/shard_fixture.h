// For the tests of a shard: what it hosts, and the gradients that it is sent.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/shard.h"

namespace yoke::core {

inline const GradientId kA{{0, 1}, 1}, kB{{1, 1}, 1};

// Shard 0 with blocks 0 and 1; block 1 may be averaged.
inline BlockPlan plan_of_two(bool averaged = false) {
  BlockPlan plan;
  plan.blocks = {{0, 0, 0, 4, 0, false, 0}, {1, 1, 0, 4, 1, averaged, 0}};
  plan.of_shard = {{0, 1}};
  plan.of_slot = {{0}, {1}};
  return plan;
}

inline Record record_of(std::vector<GradientId> applied, std::uint64_t index = 0) {
  Record record{.index = index};
  for (const auto& id : applied)
    record.applied.push_back({id, 0, 0, 2, 1.0 / static_cast<double>(applied.size()), std::nullopt});
  return record;
}

// A shard that is told one thing at a time, and what it wants done.
struct DrivenShard {
  explicit DrivenShard(BlockPlan of = plan_of_two(), Version committed = 0, bool twin = false)
      : plan(std::move(of)), shard(0, plan, committed, twin) {}
  template <class T>
  std::vector<T> on(const Event& event) {
    out.clear();
    shard.on(event, Time(0), out);
    return all<T>();
  }
  template <class T>
  std::vector<T> hear(Message message) {
    return on<T>(Received{kSequencer, std::move(message)});
  }
  // Effects of a kind, or the messages of a kind that were sent.
  template <class T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const auto& effect : out) {
      if constexpr (std::is_constructible_v<Effect, T>) {
        if (const auto* e = std::get_if<T>(&effect)) found.push_back(*e);
      } else if (const auto* send = std::get_if<Send>(&effect)) {
        if (const auto* m = std::get_if<T>(&send->message)) found.push_back(*m);
      }
    }
    return found;
  }

  BlockPlan plan;
  Shard shard;
  Effects out;
};

}  // namespace yoke::core
