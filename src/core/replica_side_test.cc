#include "core/replica_side.h"

#include <gtest/gtest.h>

namespace yoke::core {
namespace {

const Life kLife{0, 5};

// A block on each of two shards.
BlockPlan plan_of_two_shards() {
  BlockPlan plan;
  plan.blocks = {{0, 0, 0, 4, 0, false, 0}, {1, 0, 4, 4, 0, false, 1}};
  plan.of_shard = {{0}, {1}};
  plan.of_slot = {{0, 1}};
  return plan;
}

struct ReplicaSideBench {
  template <class T>
  std::vector<T> on(const Event& event) {
    out.clear();
    side.on(event, Time(0), out);
    return all<T>();
  }
  template <class T>
  std::vector<T> hear(Message message) {
    return on<T>(Received{kSequencer, std::move(message)});
  }
  template <class T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const auto& effect : out)
      if (const auto* m = std::get_if<T>(&std::get<Send>(effect).message)) found.push_back(*m);
    return found;
  }
  void arrive(ShardId shard, Version version) { hear<Pull>(Parameters{kLife, shard, version}); }

  BlockPlan plan = plan_of_two_shards();
  ReplicaSide side{kLife, plan, 100, 2};
  Effects out;
};

TEST(ReplicaSideTest, PullsForItsWorkAndMayComputeWhenAllIsThere) {
  ReplicaSideBench b;
  EXPECT_EQ(b.hear<Pull>(Assign{{kLife, 1}, 3, Range{0, 0, 2}}).size(), 2u);
  EXPECT_FALSE(b.side.parameters_here());
  b.arrive(0, 3);
  b.arrive(1, 2);
  EXPECT_FALSE(b.side.parameters_here()) << "the answer to an older pull";
  b.arrive(1, 4);
  EXPECT_TRUE(b.side.parameters_here());
  EXPECT_EQ(b.side.base(), 3u);
  b.side.installed(0, 5);
  EXPECT_EQ(b.side.base(), 4u);
}

TEST(ReplicaSideTest, TheVerdictComesBeforeTheNextWork) {
  ReplicaSideBench b;
  b.hear<Pull>(Assign{{kLife, 1}, 0});
  EXPECT_TRUE(b.hear<Pull>(Assign{{kLife, 2}, 1}).empty());
  EXPECT_EQ(b.side.work()->gradient.sequence, 1u);
  EXPECT_EQ(b.hear<Pull>(Settled{{{kLife, 1}, Fate::dropped}}).size(), 2u);
  EXPECT_EQ(b.side.work()->gradient.sequence, 2u);
  EXPECT_NE(b.side.verdict(1), nullptr);
  EXPECT_EQ(b.side.verdict(2), nullptr);
  EXPECT_TRUE(b.hear<Pull>(Assign{{kLife, 1}, 0}).empty()) << "said again, late";
}

TEST(ReplicaSideTest, DoesNotAskForTheUpdateThatItsGradientIsPartOf) {
  ReplicaSideBench b;
  b.hear<Pull>(Assign{{kLife, 1}, 3});
  b.arrive(0, 3);
  b.arrive(1, 3);
  b.arrive(0, 4);  // unasked, before the verdict
  b.hear<Pull>(Settled{{{kLife, 1}, Fate::applied, 4}});
  EXPECT_TRUE(b.hear<Pull>(Assign{{kLife, 2}, 4}).empty());
  EXPECT_FALSE(b.side.parameters_here());
  b.arrive(1, 4);
  EXPECT_TRUE(b.side.parameters_here());
  EXPECT_EQ(b.side.base(), 4u);
  b.on<Pull>(Reset{shard_at(1)});  // what shard 1 sends next may be lost
  b.hear<Pull>(Settled{{{kLife, 2}, Fate::applied, 5}});
  EXPECT_EQ(b.hear<Pull>(Assign{{kLife, 3}, 5}).size(), 1u);
}

TEST(ReplicaSideTest, SendsAgainWhatABrokenLinkMayHaveLost) {
  ReplicaSideBench b;
  b.hear<Pull>(Assign{{kLife, 1}, 0});
  b.arrive(0, 0);
  EXPECT_EQ(b.on<Pull>(Reset{shard_at(1)}).size(), 1u);
  EXPECT_TRUE(b.on<Pull>(Reset{shard_at(0)}).empty());
  b.arrive(1, 0);
  Effects out;
  b.side.push(0, 7, 2, out);
  b.side.push(1, 0, 2, out);
  const auto again = b.on<Push>(Reset{shard_at(0)});
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].ticket, 7u);
  b.hear<Pull>(Settled{{{kLife, 1}, Fate::applied}});
  EXPECT_TRUE(b.on<Push>(Reset{shard_at(0)}).empty()) << "settled: there is nothing to send again";
  EXPECT_EQ(b.on<Hello>(Reset{kSequencer}).size(), 1u);
}

TEST(ReplicaSideTest, IsNotMovedByWhatIsMeantForAnotherLife) {
  ReplicaSideBench b;
  const Life former{0, 4};
  EXPECT_TRUE(b.hear<Pull>(Assign{{former, 9}, 0}).empty());
  b.hear<Pull>(Turned{former, "over"});
  EXPECT_TRUE(b.side.turned_away().empty());
  b.hear<Pull>(Turned{kLife, "struck off"});
  EXPECT_EQ(b.side.turned_away(), "struck off");
  EXPECT_FALSE(b.side.drained());
  b.hear<Pull>(Done{12, "over"});
  EXPECT_TRUE(b.side.done());
  EXPECT_EQ(b.side.final_version(), 12u);
}

TEST(ReplicaSideTest, KnowsThatItWasAskedToGo) {
  ReplicaSideBench b;
  b.hear<Pull>(Turned{kLife, "", true});
  EXPECT_FALSE(b.side.turned_away().empty());
  EXPECT_TRUE(b.side.drained());
}

}  // namespace
}  // namespace yoke::core
