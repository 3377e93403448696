// A replica's side of one network, with the server's words handed in by hand.
#include "cluster/remote_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace yoke::cluster {
namespace {

using wire::Parameters;

constexpr std::size_t kFloats = 600'000;  // of each slot; three blocks

struct AReplica : testing::Test {
  AReplica() {
    links.loop = &thread.loop();
    links.life = {0, 1};
    links.options.deadline = std::chrono::seconds(10);
    links.servers.resize(1);
    hear(wire::FirstValuesDone{0});
    cluster.attach(0, places()).or_throw();
    cluster.join(0, 0, 1);
  }
  ~AReplica() override { thread.stop(); }

  Places places() {
    Places all;
    for (auto& slot : slots) all.push_back(slot);
    return all;
  }
  bool hear(wire::JobMessage message, transport::Bytes payload = {}) {
    const Links::Lock lock(links.mutex);
    const bool somebody = cluster.received(0, std::move(message), std::move(payload));
    ++links.changes;
    return somebody;
  }
  void hear_post(wire::Message message) {
    hear(wire::Post{0, wire::shard_at(0), wire::replica_at(0), std::move(message)});
  }
  void assign(wire::Version step) { hear_post(wire::Assign{{{0, 1}, step + 1}, step, {}, 0}); }
  // A block's values as a socket brings them: straight to where they are wanted, or somewhere else. True: straight.
  bool bring(wire::BlockId block, wire::Version version, float value) {
    const wire::BlockValues announced{0, block, version};
    const auto size = cluster.plan().blocks[block].size;
    std::span<std::byte> into;
    {
      const Links::Lock lock(links.mutex);
      into = cluster.announced(announced, size * sizeof(float), false).or_throw().into;
    }
    const bool straight = !into.empty();
    if (!straight) {
      elsewhere.emplace_back(size);
      into = std::as_writable_bytes(std::span(elsewhere.back()));
    }
    std::ranges::fill(std::span(reinterpret_cast<float*>(into.data()), size), value);
    hear(announced, {into, nullptr});
    return straight;
  }
  void bring_slot(SlotId slot, wire::Version version, float value, bool straight) {
    for (const auto block : cluster.plan().of_slot[slot]) EXPECT_EQ(bring(block, version, value), straight) << block;
  }
  void expect_values(SlotId slot, float value) {
    EXPECT_EQ(std::ranges::count(slots[slot], value), static_cast<std::ptrdiff_t>(kFloats)) << "slot " << slot;
  }
  wire::BlockId blocks() const { return static_cast<wire::BlockId>(cluster.plan().blocks.size()); }

  transport::LoopThread thread{"replica"};
  Links links;
  const Layout layout{{{"first", {kFloats}, 0}, {"second", {kFloats}, 0}}, {SGD{}}};
  RemoteCluster cluster{links, 0, layout, core::plan_blocks(layout, 1)};
  std::vector<std::vector<float>> slots{std::vector<float>(kFloats), std::vector<float>(kFloats)};
  std::deque<std::vector<float>> elsewhere;
};

TEST_F(AReplica, begins_before_its_last_values_are_there) {
  assign(0);
  hear_post(Parameters{{0, 1}, 0, 0, blocks()});
  const auto work = cluster.next(0);
  ASSERT_TRUE(work) << work.error().message;
  EXPECT_EQ(work->late, (std::vector<SlotId>{0, 1}));
  bring_slot(0, 0, 1, true);  // while it computes already
  EXPECT_TRUE(cluster.await(0, 0).ok());
  expect_values(0, 1);
  bring_slot(1, 0, 2, true);
  EXPECT_TRUE(cluster.await(0, 1).ok());
  expect_values(1, 2);
}

TEST_F(AReplica, waits_for_the_slot_that_it_asks_for) {
  assign(0);
  hear_post(Parameters{{0, 1}, 0, 0, blocks()});
  ASSERT_TRUE(cluster.next(0));
  std::jthread server([&] {
    for (const SlotId slot : {0, 1})
      for (const auto block : cluster.plan().of_slot[slot]) {
        bring(block, 0, 3);
        links.wake.notify_all();
      }
  });
  EXPECT_TRUE(cluster.await(0, 1).ok());
  expect_values(1, 3);
}

TEST_F(AReplica, computes_on_what_it_was_told_of_while_the_next_version_comes_ahead) {
  assign(0);
  hear_post(Parameters{{0, 1}, 0, 0, blocks()});
  for (const SlotId slot : {0, 1}) bring_slot(slot, 0, 1, false);  // it does not wait for them yet
  const auto work = cluster.next(0);
  ASSERT_TRUE(work);
  bring_slot(1, 1, 2, false);
  EXPECT_TRUE(cluster.await(0, 1).ok());
  for (const SlotId slot : {0, 1}) expect_values(slot, 1);
}

TEST_F(AReplica, takes_what_came_ahead_when_only_the_rest_follows) {
  assign(0);
  const auto rest = static_cast<std::uint32_t>(cluster.plan().of_slot[0].size());
  bring_slot(1, 0, 2, false);  // nobody waits for it yet
  hear_post(Parameters{{0, 1}, 0, 0, rest});
  const auto work = cluster.next(0);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->late, std::vector<SlotId>{0});
  expect_values(1, 2);
  bring_slot(0, 0, 1, true);
  EXPECT_TRUE(cluster.await(0, 0).ok());
  expect_values(0, 1);
}

TEST_F(AReplica, forgets_what_came_ahead_when_all_of_it_follows) {
  assign(0);
  bring_slot(1, 0, 7, false);  // of a version that was not decided like that
  hear_post(Parameters{{0, 1}, 0, 0, blocks()});
  const auto work = cluster.next(0);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->late, (std::vector<SlotId>{0, 1}));
  bring_slot(0, 0, 1, true);
  bring_slot(1, 0, 2, true);
  for (const SlotId slot : {0, 1}) EXPECT_TRUE(cluster.await(0, slot).ok());
  expect_values(0, 1);
  expect_values(1, 2);
}

TEST_F(AReplica, has_all_of_a_version_that_was_sent_before_it_was_told_of) {
  assign(0);
  for (const SlotId slot : {0, 1}) bring_slot(slot, 0, 4, false);
  hear_post(Parameters{{0, 1}, 0, 0});
  const auto work = cluster.next(0);
  ASSERT_TRUE(work);
  EXPECT_TRUE(work->late.empty());
  for (const SlotId slot : {0, 1}) expect_values(slot, 4);
}

TEST_F(AReplica, writes_to_no_place_any_more_when_it_has_left) {
  assign(0);
  hear_post(Parameters{{0, 1}, 0, 0, blocks()});
  ASSERT_TRUE(cluster.next(0));
  bring_slot(0, 0, 1, true);
  cluster.leave(0, "its body threw");
  bring_slot(1, 0, 1, false);
}

TEST_F(AReplica, does_not_wait_for_a_step_that_is_lost) {
  assign(0);
  hear_post(Parameters{{0, 1}, 0, 0, blocks()});
  ASSERT_TRUE(cluster.next(0));
  hear_post(wire::Settled{{{{0, 1}, 1}, wire::Fate::dropped, 1, 1, "others were faster"}});
  EXPECT_EQ(cluster.await(0, 0).error().code, Code::cancelled);
}

TEST_F(AReplica, what_it_waits_for_in_vain_does_not_count) {
  assign(0);
  hear_post(Parameters{{0, 1}, 0, 0, blocks()});
  ASSERT_TRUE(cluster.next(0));
  {
    const Links::Lock lock(links.mutex);
    links.lost = Links::Lost{{Code::peer_down, "cut"}, {}};
    links.over = true;
  }
  EXPECT_EQ(cluster.await(0, 0).error().code, Code::cancelled);
  EXPECT_TRUE(cluster.abandoned(0));
}

}  // namespace
}  // namespace yoke::cluster
