#include "cluster/optimizer_memory.h"

#include <gtest/gtest.h>

namespace yoke::cluster {
namespace {

struct Memory : testing::Test {
  const Layout layout{{{"weight", {100}, 0}}, {Adam{}}};
  const core::BlockPlan plan = core::plan_blocks(layout, 1);

  // What an update of the block would write to.
  static kernel::Block update(OptimizerMemory& memory) {
    kernel::Block block;
    memory.prepare(0, block);
    for (auto* out : {block.state_out[0], block.state_out[1]}) std::fill_n(out, 100, 7.0f);
    memory.advance(0);
    return block;
  }
};

TEST_F(Memory, what_was_given_out_is_not_written_to_while_it_is_held) {
  OptimizerMemory memory(plan, layout.groups, 2);
  const auto held = memory.hold(0);
  ASSERT_EQ(held.size(), 2u);
  for (int i = 0; i < 3; ++i) update(memory);
  for (const auto& array : held)
    for (const auto value : array.values) ASSERT_EQ(value, 0.0f);
}

// A count of owners says who holds it, not that what he read was read before it is written.
TEST_F(Memory, what_was_given_out_comes_back_through_its_owner_alone) {
  int given_back = 0;
  const auto allocate = [&](std::size_t bytes) {
    auto memory = own_memory(bytes);
    return std::shared_ptr<std::byte>(memory.get(), [&, memory](std::byte*) { ++given_back; });
  };
  {
    OptimizerMemory memory(plan, layout.groups, 2, {}, allocate);
    update(memory);
    EXPECT_EQ(given_back, 0) << "in the steady state nothing is asked for";
    update(memory);
    EXPECT_EQ(given_back, 0);
    memory.hold_next(0);
    update(memory);
    EXPECT_EQ(given_back, 2) << "both arrays";
    update(memory);
    EXPECT_EQ(given_back, 2);
  }
  EXPECT_EQ(given_back, 6);
}

TEST_F(Memory, in_place_it_gives_out_copies) {
  OptimizerMemory memory(plan, layout.groups, 1);
  const auto held = memory.hold(0);
  update(memory);
  for (const auto& array : held)
    for (const auto value : array.values) ASSERT_EQ(value, 0.0f);
  EXPECT_EQ(memory.present(0)[0][0], 7.0f);
}

}  // namespace
}  // namespace yoke::cluster
