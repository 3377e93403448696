#include "cluster/memory_need.h"

#include <gtest/gtest.h>

namespace yoke::cluster {
namespace {

wire::Open network_of(std::int64_t values, Optimizer optimizer, std::uint32_t replicas, std::uint32_t shards = 1) {
  wire::Open open{0, {}, {{{"weight", {values}, 0}}, {optimizer}}};
  open.terms.replicas = replicas;
  open.terms.shards = shards;
  return open;
}

std::uint64_t need(const wire::Open& open, wire::ShardId shard, bool running) {
  return need_of(open.terms, open.layout, core::plan_blocks(open.layout, open.terms.shards), shard, running);
}

TEST(MemoryNeed, is_values_state_and_gradients) {
  const auto plain = network_of(1000, SGD{.momentum = 0}, 3);
  EXPECT_EQ(need(plain, 0, false), 4u * 1000);
  EXPECT_EQ(need(plain, 0, true), 4u * 1000 * (2 + 2 * 3));
  const auto adam = network_of(1000, Adam{}, 1);
  EXPECT_EQ(need(adam, 0, false), 4u * 1000 * (1 + 2 * 2));  // two arrays, in two versions
  auto many = network_of(1000, SGD{.momentum = 0}, 1, 2);
  EXPECT_EQ(need(many, 0, false) + need(many, 1, false), 4u * 1000);
  many.layout.slots.push_back({"fixed", {10}, 0, true});
  EXPECT_EQ(need(many, 0, false) + need(many, 1, false), 4u * 1010);
}

TEST(MemoryNeed, is_refused_with_the_figures) {
  const auto open = network_of(1 << 20, SGD{.momentum = 0}, 1);  // 16 MiB while it is trained
  EXPECT_TRUE(afford_network(open, 0, "job", {0, 0}, {0, 0}));
  EXPECT_TRUE(afford_network(open, 0, "job", {16u << 20, 0}, {0, 0}));
  const auto one = afford_network(open, 0, "job", {15u << 20, 0}, {0, 0});
  ASSERT_FALSE(one);
  EXPECT_NE(one.error().message.find("would take 16.0 MiB"), std::string::npos) << one.error().message;
  EXPECT_NE(one.error().message.find("15.0 MiB (--container-memory)"), std::string::npos) << one.error().message;
  // Its other networks count.
  EXPECT_TRUE(afford_network(open, 0, "job", {20u << 20, 4u << 20}, {0, 4u << 20}));
  const auto second = afford_network(open, 0, "job", {20u << 20, 5u << 20}, {0, 5u << 20});
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("has 5.0 MiB for its others"), std::string::npos) << second.error().message;
  EXPECT_TRUE(afford_network(open, 0, "job", {0, 0}, {20u << 20, 4u << 20}));
  const auto all = afford_network(open, 0, "job", {0, 0}, {20u << 20, 5u << 20});
  ASSERT_FALSE(all);
  EXPECT_NE(all.error().message.find("5.0 MiB of 20.0 MiB (--memory)"), std::string::npos) << all.error().message;
  // As large as a layout can be: it is refused before its blocks are counted.
  EXPECT_FALSE(afford_network(network_of(std::int64_t{1} << 39, SGD{}, 1), 0, "job", {1u << 30, 0}, {0, 0}));
}

}  // namespace
}  // namespace yoke::cluster
