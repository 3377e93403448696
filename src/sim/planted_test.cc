// Does the simulator bite? Every bug that can be planted is found, within so many seeds and by a finding that fits it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/bugs.h"
#include "sim/outcome.h"

namespace yoke::sim {
namespace {

struct Expected {
  core::Bug bug;
  std::string_view finding;  // a part of it
  std::uint64_t within;      // seeds
};

constexpr Expected kExpected[] = {
    {core::Bug::count_a_replica_twice, "counts replica", 100},
    {core::Bug::apply_a_late_gradient, "which is not fresh", 50},
    {core::Bug::different_sets_on_two_shards, "which is in the record", 50},
    {core::Bug::lose_a_returned_range, "never counted", 50},
    {core::Bug::forget_the_incarnation, "which is not in the record", 400},
    {core::Bug::apply_twice_after_a_retry, "was applied twice", 400},
    {core::Bug::decide_before_verified, "uses a damaged payload", 200},
    {core::Bug::advance_the_schedule_on_a_drop, "the schedule says", 50},
    {core::Bug::ignore_the_staleness_bound, "more than the", 50},
    {core::Bug::commit_before_every_shard, "was committed before every shard had made it", 50},
    {core::Bug::announce_before_rename, "was announced and is not there", 50},
    {core::Bug::forget_returned_ranges_at_resume, "which the checkpoint gave back", 400},
    {core::Bug::newcomer_with_an_old_version, "was assigned for version", 50},
    {core::Bug::capture_before_the_mark, "it was marked at version", 50},
    {core::Bug::keep_counting_a_drained_replica, "replicas in, at least", 400},
    {core::Bug::skip_an_fsync, "a checkpoint cannot be read", 100},
    {core::Bug::tell_before_the_twin_has_it, "the job is formed anew from version", 3000},
    {core::Bug::form_from_an_older_version, "the job is formed anew from version", 3000},
    {core::Bug::take_the_standing_of_another_version, "with the standing of version", 400},
    {core::Bug::acknowledge_before_the_backup_has_it, "the coordinator gives up", 1000},
    {core::Bug::take_a_backup_for_filled_too_early, "the coordinator gives up", 5000},
    {core::Bug::two_primaries_in_one_epoch, "the coordinator gives up", 800},
    {core::Bug::new_sequencer_forgets_a_record, "the job is formed anew from version", 400},
    {core::Bug::view_change_loses_a_gradient, "with another standing than its record has", 400},
    {core::Bug::keep_what_was_foreseen, "which is not in the record", 2000},
};

class Planted : public testing::TestWithParam<Expected> {
 protected:
  void SetUp() override { core::planted_bug = GetParam().bug; }
  void TearDown() override { core::planted_bug = core::Bug::none; }
};

TEST_P(Planted, IsFound) {
  const auto& expected = GetParam();
  for (std::uint64_t seed = 1; seed <= expected.within; ++seed) {
    const auto outcome = run_seed(seed);
    const auto found = std::find_if(outcome.violations.begin(), outcome.violations.end(), [&](const auto& violation) {
      return violation.find(expected.finding) != std::string::npos;
    });
    if (found == outcome.violations.end()) continue;
    fmt::print("found by seed {}: {}\n", seed, *found);
    return;
  }
  FAIL() << "not found within " << expected.within << " seeds";
}

INSTANTIATE_TEST_SUITE_P(Bugs, Planted, testing::ValuesIn(kExpected), [](const auto& of) {
  for (const auto& [name, bug] : kBugs)
    if (bug == of.param.bug) return std::string(name);
  return std::string("unknown");
});

TEST(PlantedTest, EveryBugIsExpected) { EXPECT_EQ(std::size(kExpected), kBugs.size()); }

TEST(PlantedTest, WithoutABugTheSameSeedsFindNothing) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const auto outcome = run_seed(seed);
    EXPECT_TRUE(outcome.violations.empty()) << "seed " << seed << ": " << outcome.violations.front();
  }
}

}  // namespace
}  // namespace yoke::sim
