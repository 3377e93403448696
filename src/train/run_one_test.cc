// What a process makes of its replica's end where the others are processes of their own.
#include "train/run_one.h"

#include <gtest/gtest.h>

#include "strategy/strategy.h"
#include "train/elsewhere.h"
#include "train/session.h"
#include "train/toy_model.h"

namespace yoke::train {
namespace {

struct RunOne : testing::Test {
  RunOne() {
    options.epochs = 1;
    options.processes.join = "elsewhere";
  }

  // Makes `steps` steps of 10, then does what `then` says.
  Result<Summary> run(
      int steps, const std::function<void()>& then = [] {}) {
    Job job(options, open_elsewhere(strategy::plan(options).or_throw(), elsewhere), 0);
    return run_one(job, 0, [&](Replica& replica) {
      auto model = std::make_shared<ToyModel>();
      auto& session = replica.open(model->layout(), model->places(), model, true);
      int made = 0;
      for (const auto& batch : replica.samples(100, 10)) {
        if (made++ == steps) break;
        model->compute(batch, session.exchange());
        session.step().or_throw();
      }
      then();
    });
  }

  Options options;
  Elsewhere elsewhere;
};

TEST_F(RunOne, the_summary_is_the_servers_account) {
  elsewhere.retouch = [](wire::Account& account) {
    account.samples = 300;
    account.replicas.push_back({.id = 1, .applied = 20, .staleness = 10, .mean_step_seconds = 0.25, .gone = "lost"});
  };
  const auto summary = run(100);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->steps, 10u);
  EXPECT_EQ(summary->samples, 300u);
  EXPECT_EQ(summary->applied, 30u);
  ASSERT_EQ(summary->replicas.size(), 2u);
  EXPECT_EQ(summary->replicas[0].lost, "");
  EXPECT_GT(summary->replicas[0].mean_step_seconds, 0);
  EXPECT_EQ(summary->replicas[1].mean_staleness, 0.5);
  EXPECT_EQ(summary->replicas[1].mean_step_seconds, 0.25);
  EXPECT_EQ(summary->replicas[1].lost, "lost");
}

TEST_F(RunOne, a_body_that_throws_fails_its_process_with_its_own_words) {
  const auto summary = run(3, [] { throw Exception({Code::corrupt, "the disk is on fire"}); });
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().code, Code::corrupt);
  EXPECT_NE(summary.error().message.find("step 3: the disk is on fire"), std::string::npos) << summary.error().message;
}

TEST_F(RunOne, a_body_that_throws_when_training_is_over_does_not) {
  const auto summary = run(100, [] { throw std::runtime_error("too late"); });
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->replicas[0].lost, "too late");
}

TEST_F(RunOne, a_body_may_have_enough_early) {
  const auto summary = run(3);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->steps, 3u);
  EXPECT_EQ(summary->replicas[0].lost, "");
}

TEST_F(RunOne, servers_that_are_gone_when_training_is_over_only_leave_gaps) {
  elsewhere.silent = Error{Code::peer_down, "the first server is gone"};
  const auto summary = run(100);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->steps, 10u);
  const auto early = run(3);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().message, "the first server is gone");
}

}  // namespace
}  // namespace yoke::train
