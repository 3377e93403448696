// A job that is stopped in the middle of an epoch and gone on with from its checkpoint ends with the same bits as one
// that never was.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "train/members_fixture.h"

namespace yoke::train {
namespace {

struct ResumeWay {
  Strategy strategy;
  bool processes;
  std::uint32_t shards;
};

Options job(const ResumeWay& way) {
  auto options = options_for(way.strategy, 3, way.strategy == Strategy::mirrored ? 1 : way.shards);
  options.epochs = 3;
  options.deterministic = true;
  options.schedule.kind = ScheduleOptions::Kind::cosine;
  return options;
}

// Trains until `until` steps were made (0: to the end) and leaves then; the values that replica 0 ended with.
Values run(Options options, bool processes, std::uint64_t until = 0) {
  Ends ends;
  const auto body = [&](Replica& replica) {
    // It is read until this replica has left: mirrored, the last checkpoint is of its values.
    const auto kept = std::make_shared<ToyModel>(static_cast<float>(replica.id()), Adam{.lr = 0.05});
    auto& model = *kept;
    auto& session = replica.open(model.layout(), model.places(), kept, false);
    for (const auto& samples : replica.samples(kSamples, 4)) {
      model.compute(samples, session.exchange());
      session.step().or_throw();
      if (until && session.assignment().step >= until) session.stop("the test has seen enough");
    }
    const std::lock_guard lock(ends.mutex);
    ends.values[replica.id()] = model.values();
  };
  if (!processes) {
    run_job(options, body).or_throw();
  } else if (options.strategy == Strategy::mirrored) {
    const ScratchFolder folder;
    run_members(options, "unix:" + folder.file("r"), body, ends);
  } else {
    Servers servers("unix", options.shards, false, {}, options.checkpoints);
    run_members(options, servers.join(), body, ends);
    for (std::uint32_t i = 0; i < options.shards; ++i) EXPECT_TRUE(servers.ended(i));
  }
  for (const auto& [replica, summary] : ends.summaries) EXPECT_TRUE(summary) << summary.error().message;
  return ends.values.at(0);
}

class Resume : public testing::TestWithParam<std::tuple<ResumeWay, ResumeWay>> {};

TEST_P(Resume, gives_the_same_bits) {
  const auto& [before, after] = GetParam();
  const auto undisturbed = run(job({Strategy::sync, false, 1}), false);
  const ScratchFolder folder;
  auto options = job(before);
  options.checkpoints.folder = folder.file("checkpoints");
  options.checkpoints.every_steps = 2;
  run(options, before.processes, 7);  // 6 a epoch: 11 samples of the second are counted
  auto again = job(after);
  again.checkpoints = options.checkpoints;
  again.checkpoints.resume = options.checkpoints.folder;
  EXPECT_EQ(run(again, after.processes), undisturbed);
  const auto found = checkpoint::newest(checkpoint::posix_disk(), options.checkpoints.folder).or_throw();
  ASSERT_TRUE(found.checkpoint);
  EXPECT_TRUE(found.passed_over.empty());
  EXPECT_EQ(found.checkpoint->manifest().networks.at(0).standing.ledger->counted_epochs, 3u);
}

const ResumeWay kWays[] = {{Strategy::sync, false, 1}, {Strategy::sync, false, 3}, {Strategy::mirrored, false, 1},
                           {Strategy::sync, true, 1},  {Strategy::sync, true, 2},  {Strategy::mirrored, true, 1}};

INSTANTIATE_TEST_SUITE_P(Ways, Resume, testing::Combine(testing::ValuesIn(kWays), testing::ValuesIn(kWays)),
                         [](const auto& of) {
                           std::string name;
                           for (const auto& way : {std::get<0>(of.param), std::get<1>(of.param)})
                             name += std::string(name.empty() ? "" : "_then_") +
                                     (way.strategy == Strategy::sync ? "sync" : "mirrored") +
                                     (way.processes ? "_processes_" : "_threads_") + std::to_string(way.shards);
                           return name;
                         });

TEST(Checkpoints, a_folder_that_has_some_is_not_written_over) {
  const ScratchFolder folder;
  auto options = job({Strategy::sync, false, 1});
  options.checkpoints.folder = folder.file("checkpoints");
  run(options, false);
  const auto again = run_job(options, [](Replica&) {});
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("--resume"), std::string::npos) << again.error().message;
}

TEST(Checkpoints, another_model_or_seed_is_named) {
  const ScratchFolder folder;
  auto options = job({Strategy::sync, false, 1});
  options.checkpoints.folder = folder.file("checkpoints");
  run(options, false, 4);
  options.checkpoints.resume = options.checkpoints.folder;
  options.seed = 99;
  const auto again = run_job(options, [](Replica& replica) {
    ToyModel model(0);
    replica.open(model.layout(), model.places(), nullptr, false);
  });
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("seed 1"), std::string::npos) << again.error().message;
}

}  // namespace
}  // namespace yoke::train
