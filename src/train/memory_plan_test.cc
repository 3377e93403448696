#include "train/memory_plan.h"

#include <gtest/gtest.h>

namespace yoke::train {
namespace {

constexpr std::uint64_t kParameters = 1'000'000, kOne = 4'000'000;

std::uint64_t total(const Options& options, const Optimizer& optimizer, bool keeps_best = false) {
  return plan_memory(options, optimizer, kParameters, 0, keeps_best).total();
}

Options with(Strategy strategy, std::uint32_t replicas, std::uint32_t spares = 0) {
  Options options;
  options.strategy = strategy;
  options.replicas = replicas;
  options.spares = spares;
  return options;
}

TEST(MemoryPlan, counts_copies_by_strategy) {
  const SGD plain, heavy{.momentum = 0.9};
  EXPECT_EQ(total(with(Strategy::mirrored, 4), plain), 8 * kOne);           // 4 parameters, 4 gradients
  EXPECT_EQ(total(with(Strategy::mirrored, 4), heavy), 9 * kOne);           // one state, split over the replicas
  EXPECT_EQ(total(with(Strategy::sync, 4), heavy), 10 * kOne);              // and the server's own
  EXPECT_EQ(total(with(Strategy::sync, 4, 1), heavy), (8 + 2 + 2) * kOne);  // two versions of both
  EXPECT_EQ(total(with(Strategy::async, 4), Adam{}), (8 + 2 + 4) * kOne);
  EXPECT_EQ(total(with(Strategy::async, 4), Adam{}, true), (8 + 2 + 4 + 1) * kOne);
}

TEST(MemoryPlan, what_is_kept_a_replica_is_counted_a_replica) {
  auto options = with(Strategy::async, 8);
  options.stale.delay_compensation = 0.1;
  EXPECT_EQ(total(options, SGD{}), (16 + 2 + 8) * kOne);
  options.stale.delay_compensation = 0;
  options.optimizer_state = OptimizerState::per_replica;
  EXPECT_EQ(total(options, Adam{}), (16 + 2 + 2 * 2 * 8) * kOne);
}

TEST(MemoryPlan, says_what_is_what) {
  const auto plan = plan_memory(with(Strategy::sync, 2, 1), SGD{}, kParameters, 77, false);
  ASSERT_EQ(plan.items.size(), 4u);
  EXPECT_EQ(plan.items[2].what, "2 versions of the parameters on the servers");
  EXPECT_EQ(plan.items[3].bytes, 77u);
}

TEST(MemoryPlan, sizes_in_words) {
  EXPECT_EQ(in_bytes(2048), "2 KiB");
  EXPECT_EQ(in_bytes(3 << 19), "1.5 MiB");
  EXPECT_EQ(in_bytes(std::uint64_t{40} << 30), "40 GiB");
}

}  // namespace
}  // namespace yoke::train
