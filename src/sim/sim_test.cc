// Thousands of seeds of a hostile world keep every promise; so do those that once found a bug.
#include <gtest/gtest.h>

#include "sim/outcome.h"
#include "sim/shape.h"

namespace yoke::sim {
namespace {

constexpr std::uint64_t kSeedsACase = 1000;

void expect_clean(std::uint64_t seed) {
  const auto outcome = run_seed(seed);
  ASSERT_TRUE(outcome.violations.empty())
      << outcome.violations.front() << "\n  to see it again: yoke-sim --seed " << seed;
}

class Seeds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Seeds, KeepEveryPromise) {
  const auto from = GetParam() * kSeedsACase;
  for (auto seed = from; seed < from + kSeedsACase; ++seed) expect_clean(seed);
}

INSTANTIATE_TEST_SUITE_P(Thousands, Seeds, testing::Range<std::uint64_t>(0, 4));

// Seeds that found a bug in the protocol or in the checkpoints, once.
TEST(SimTest, WhatWasFoundStaysMended) {
  expect_clean(22);    // two replicas at work in a warm-up of one, when one with a lower number came back
  expect_clean(26);    // a warm-up under a bound on the lead: the one that warmed up waited for those that may not work
  expect_clean(37);    // the end of a life was known before its hello arrived: a member that would never answer
  expect_clean(926);   // a buffer present only where there were no samples: its mean was divided by nothing
  expect_clean(1729);  // a dead life's pull, late, took the place of the living one's: no parameters, for ever
  expect_clean(9099);  // two replaced checkpoints of one version: the next life could give neither its name back
  // A rename was undone by a power cut, after the next life had removed what it took away.
  expect_clean(11426);
  // Without backups: a coordinator gave up at what an idle server had said before there was a checkpoint.
  expect_clean(708321);
  // A replica's values were gone on from, though the sequencer had told of the next version before its shard knew.
  expect_clean(16106);
  // The only holder left had lost its place to one that was dead by then.
  expect_clean(587923);
}

// Without backups replicas bring what was lost with a server, where they have it.
TEST(SimTest, ReplicasBringWhatNoServerHas) {
  Counts counts;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed)
    if (const auto shape = shape_of(seed); shape.servers.coordinated && shape.servers.backups == 0)
      counts += run_seed(seed).counts;
  EXPECT_GT(counts.brought, 10u);
}

TEST(SimTest, ASeedIsTheSameRunEveryTime) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto once = run_seed(seed, {.trace = true}), again = run_seed(seed, {.trace = true});
    ASSERT_EQ(once.trace, again.trace);
    ASSERT_FALSE(once.trace.empty());
  }
}

// Calm, synchronous, nobody to spare: what is trained depends on the seed alone, however often the job was lost.
TEST(SimTest, AJobThatWasLostEndsWithTheSameValues) {
  int losses = 0;
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    const auto shape = shape_of(seed);
    if (shape.recovery.losses == 0 || shape.recovery.others || shape.faults.cease.count() > 0 || shape.options.async ||
        shape.options.spares > 0 || shape.options.clip_norm > 0 || shape.options.everybody || shape.absent > 0 ||
        shape.stop_at.count() > 0)
      continue;
    const auto lost = run_seed(seed), unharmed = run_seed(seed, {.lose_jobs = false});
    ASSERT_EQ(lost.values, unharmed.values) << "seed " << seed;
    EXPECT_EQ(unharmed.counts.losses, 0u);
    losses += lost.counts.losses > 0 && lost.counts.checkpoints > 0;
  }
  EXPECT_GT(losses, 5);
}

TEST(SimTest, SeedsDifferInShapeAndFaults) {
  std::uint64_t async = 0, calm = 0, clipped = 0, saving = 0;
  Counts counts;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto shape = shape_of(seed);
    async += shape.options.async;
    calm += shape.faults.cease.count() == 0;
    clipped += shape.options.clip_norm > 0;
    saving += shape.recovery.checkpoint_every.count() > 0;
    counts += run_seed(seed).counts;
  }
  for (auto of_100 : {async, calm, clipped, saving}) {
    EXPECT_GT(of_100, 10u);
    EXPECT_LT(of_100, 90u);
  }
  EXPECT_GT(counts.updates, 500u);
  EXPECT_GT(counts.turned_away, 200u);
  EXPECT_GT(counts.crashes, 100u);
  EXPECT_GT(counts.resets, 500u);
  EXPECT_GT(counts.checkpoints, 200u);
  EXPECT_GT(counts.discarded, 10u);
  EXPECT_GT(counts.losses, 20u);
  EXPECT_GT(counts.departures, 5u);
  EXPECT_GT(counts.views, 5u);
  EXPECT_GT(counts.from_twins, 5u);
  EXPECT_GT(counts.servers, 50u);
  EXPECT_GT(counts.coordinators, 20u);
  EXPECT_GT(counts.filled, 100u);
  EXPECT_GT(counts.drains, 20u);
  EXPECT_GT(counts.stops, 20u);
}

TEST(SimTest, AWorldThatIsCutOffSaysWhoWasWaitedFor) {
  const auto outcome = run_seed(1, {.event_limit = 30});
  ASSERT_FALSE(outcome.violations.empty());
  EXPECT_NE(outcome.violations.front().find("no progress"), std::string::npos);
  EXPECT_NE(outcome.violations.front().find("waits for"), std::string::npos);
}

}  // namespace
}  // namespace yoke::sim
