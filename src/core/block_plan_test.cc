#include "core/block_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/hash.h"

namespace yoke::core {
namespace {

Layout layout_of(const std::vector<std::int64_t>& sizes) {
  Layout layout;
  layout.groups = {SGD{}, Average{}};
  for (std::size_t i = 0; i < sizes.size(); ++i)
    layout.slots.push_back(
        {"slot" + std::to_string(i), {sizes[i]}, static_cast<std::uint32_t>(i % 2), false, i % 2 == 1});
  return layout;
}

// Random layouts, a few of each kind: many small slots, one huge, a mixture.
std::vector<Layout> layouts() {
  std::vector<Layout> out{layout_of({1}), layout_of({10'000'000}), layout_of({300, 70'000, 1, 2'000'000, 500'000})};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<std::int64_t> sizes;
    for (std::uint64_t i = 0; i <= seed; ++i)
      sizes.push_back(static_cast<std::int64_t>(1 + mix(seed, i) % (seed % 2 ? 2'000'000 : 5'000)));
    out.push_back(layout_of(sizes));
  }
  return out;
}

TEST(BlockPlanTest, BlocksCoverEverySlotOnceInOrder) {
  for (const auto& layout : layouts()) {
    const auto plan = plan_blocks(layout, 3);
    ASSERT_EQ(plan.of_slot.size(), layout.slots.size());
    wire::BlockId next = 0;
    for (SlotId slot = 0; slot < layout.slots.size(); ++slot) {
      std::size_t reached = 0;
      for (auto id : plan.of_slot[slot]) {
        const auto& block = plan.blocks.at(id);
        EXPECT_EQ(id, next++);
        EXPECT_EQ(block.id, id);
        EXPECT_EQ(block.slot, slot);
        EXPECT_EQ(block.offset, reached);
        EXPECT_GT(block.size, 0u);
        EXPECT_LE(block.size * sizeof(float), 1u << 20);
        EXPECT_EQ(block.group, layout.slots[slot].group);
        EXPECT_EQ(block.averaged, block.group == 1);
        reached += block.size;
      }
      EXPECT_EQ(reached, layout.slots[slot].size());
    }
    EXPECT_EQ(next, plan.blocks.size());
  }
}

TEST(BlockPlanTest, EveryBlockHasOneShardAndNoShardIsEmpty) {
  for (const auto& layout : layouts())
    for (std::uint32_t shards : {0u, 1u, 2u, 7u, 100u}) {
      const auto plan = plan_blocks(layout, shards);
      EXPECT_LE(plan.shards(), std::max(1u, shards));
      EXPECT_EQ(plan.shards(), std::min<std::size_t>(std::max(1u, shards), plan.blocks.size()));
      std::size_t blocks = 0;
      for (wire::ShardId shard = 0; shard < plan.shards(); ++shard) {
        EXPECT_FALSE(plan.of_shard[shard].empty());
        EXPECT_TRUE(std::is_sorted(plan.of_shard[shard].begin(), plan.of_shard[shard].end()));
        for (auto id : plan.of_shard[shard]) EXPECT_EQ(plan.blocks[id].shard, shard);
        blocks += plan.of_shard[shard].size();
      }
      EXPECT_EQ(blocks, plan.blocks.size());
    }
}

TEST(BlockPlanTest, ShardsAreEvenWithinABlock) {
  for (const auto& layout : layouts()) {
    const auto plan = plan_blocks(layout, 4);
    std::vector<std::size_t> load(plan.shards());
    std::size_t largest = 0;
    for (const auto& block : plan.blocks) {
      load[block.shard] += block.size;
      largest = std::max(largest, block.size);
    }
    const auto [least, most] = std::minmax_element(load.begin(), load.end());
    EXPECT_LE(*most - *least, largest);
  }
}

TEST(BlockPlanTest, TheSameEverywhere) {
  for (const auto& layout : layouts()) {
    const auto a = plan_blocks(layout, 3), b = plan_blocks(layout, 3);
    EXPECT_EQ(a.of_shard, b.of_shard);
    EXPECT_EQ(a.of_slot, b.of_slot);
  }
}

}  // namespace
}  // namespace yoke::core
