#include "train/memory_plan.h"

#include <fmt/format.h>

#include "kernel/pass.h"

namespace yoke::train {

std::uint64_t MemoryPlan::total() const {
  std::uint64_t sum = 0;
  for (const auto& item : items) sum += item.bytes;
  return sum;
}

MemoryPlan plan_memory(const Options& options, const Optimizer& optimizer, std::uint64_t parameters,
                       std::uint64_t data_bytes, bool keeps_best) {
  const std::uint64_t one = parameters * sizeof(float);
  const std::uint64_t replicas = options.replicas;
  const std::uint64_t states = kernel::states_of(optimizer);
  const bool mirrored = options.strategy == Strategy::mirrored;
  const bool two_versions = options.strategy == Strategy::async || options.spares > 0;
  const std::uint64_t versions = mirrored ? 0 : two_versions ? 2 : 1;
  const bool each_its_own = options.optimizer_state == OptimizerState::per_replica;

  MemoryPlan plan;
  const auto add = [&](std::string what, std::uint64_t bytes) {
    if (bytes > 0) plan.items.push_back({std::move(what), bytes});
  };
  add(fmt::format("{} replica{} parameters", replicas, replicas == 1 ? "'s" : "s'"), replicas * one);
  add("their gradients (staging)", replicas * one);
  add(fmt::format("{} version{} of the parameters on the servers", versions, versions == 1 ? "" : "s"), versions * one);
  add(fmt::format("optimizer state{}", two_versions ? ", two versions" : ""),
      states * one * (two_versions ? 2 : 1) * (each_its_own ? replicas : 1));
  if (options.stale.delay_compensation != 0) add("delay compensation, a copy a replica", replicas * one);
  if (keeps_best) add("the best version so far", one);
  add("data", data_bytes);
  return plan;
}

std::string in_bytes(std::uint64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes >= std::uint64_t{10} << 30) return fmt::format("{:.0f} GiB", number / (1 << 30));
  if (bytes >= std::uint64_t{1} << 30) return fmt::format("{:.1f} GiB", number / (1 << 30));
  if (bytes >= std::uint64_t{10} << 20) return fmt::format("{:.0f} MiB", number / (1 << 20));
  if (bytes >= std::uint64_t{1} << 20) return fmt::format("{:.1f} MiB", number / (1 << 20));
  return fmt::format("{:.0f} KiB", number / 1024);
}

}  // namespace yoke::train
