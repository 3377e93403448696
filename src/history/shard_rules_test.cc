#include "history/story.h"

namespace yoke::history {
namespace {

TEST(ShardRulesTest, EveryBlockIsMadeOnce) {
  auto s = sync_story();
  s.add(Made{s.find<Made>()});
  expect_found(s, "was made twice");
  auto t = sync_story();
  t.erase<Made>(1);
  expect_found(t, "before every shard had made it: shard 1 had made 0 of 1 blocks");
}

TEST(ShardRulesTest, MadeOfTheRecordsGradients) {
  auto s = sync_story();
  s.find<Made>(1).used.pop_back();
  expect_found(s, "leaves out gradient 1 of replica 1 (life 1), which is in the record");
  auto t = sync_story();
  t.find<Made>().used[0].gradient = gradient(0, 1, 2);
  expect_found(t, "uses gradient 1 of replica 0 (life 2), which is not in the record");
  auto u = sync_story();
  u.find<Made>().used[1] = u.find<Made>().used[0];
  expect_found(u, "twice");
}

TEST(ShardRulesTest, AnAbsentBlockMayBeLeftOut) {
  auto s = sync_story();
  s.find<Made>(1).used.pop_back();
  s.erase<Examined>(3);
  expect_clean(s);
}

TEST(ShardRulesTest, WeightsAreTheRecords) {
  auto s = sync_story();
  s.find<Made>().used[0].weight = 0.7;
  expect_found(s, "weighted unlike the record");
  auto t = sync_story();
  t.find<Decided>().record.applied[0].weight = 0.6;
  expect_found(t, "weight 0.6 for 2 of 4 samples");
  auto u = sync_story();  // an averaged block of which one share is absent
  u.find<Made>(1).used.pop_back();
  u.find<Made>(1).used[0].weight = 1;
  u.erase<Examined>(3);
  expect_clean(u);
}

TEST(ShardRulesTest, ScaleOnlyWithClippingAndAlike) {
  auto s = sync_story();
  s.find<Made>(0).scale = s.find<Made>(1).scale = 0.5;
  expect_found(s, "was scaled without clipping");
  s.find<Decided>().record.clip = true;
  expect_clean(s);
  s.find<Made>(1).scale = 0.25;
  expect_found(s, "was scaled unlike others");
}

TEST(ShardRulesTest, VersionsFollowEachOther) {
  auto s = sync_story();
  s.find<Published>().version = 2;
  expect_found(s, "shard 0 showed version 2 after 0");
  auto t = async_story();
  t.find<Made>(0).version = 2;
  expect_found(t, "was made when the shard showed version 0");
}

TEST(ShardRulesTest, DamagedPayloadsAreNotUsed) {
  auto s = sync_story();
  s.find<Examined>().ok = false;
  expect_found(s, "uses a damaged payload");
}

}  // namespace
}  // namespace yoke::history
