// Replicas that go and come back, in the middle of a job.
#include <gtest/gtest.h>

#include "history/checker.h"
#include "history/merge.h"
#include "train/members_fixture.h"
#include "train/relay.h"

namespace yoke::train {
namespace {

void expect_kept(const Servers& servers, const std::vector<std::shared_ptr<history::Recorder>>& recorders) {
  auto parts = servers.histories();
  for (const auto& recorder : recorders) parts.push_back(recorder->events());
  const auto merged = history::merge(parts);
  for (const auto& broken : history::check(merged)) ADD_FAILURE() << broken;
}

std::vector<std::shared_ptr<history::Recorder>> recorders_for(std::uint32_t replicas) {
  std::vector<std::shared_ptr<history::Recorder>> recorders(replicas);
  for (auto& recorder : recorders) recorder = std::make_shared<history::Recorder>();
  return recorders;
}

// One that was taken for dead: its connections are gone, and it is not.
class CutOff : public testing::TestWithParam<Strategy> {};

TEST_P(CutOff, a_replica_joins_again_by_itself) {
  auto options = options_for(GetParam(), 3, 2);
  options.epochs = 6;
  Servers servers("unix", 2, true);
  const ScratchFolder folder;
  Relay relay(folder.file("relay"), servers.join().substr(5));
  Ends ends;
  std::atomic<int> cuts{0}, dropped{0};
  const auto body = [&](Replica& replica) {
    ToyModel model(static_cast<float>(replica.id()));
    auto& session = replica.open(model.layout(), model.places(), nullptr, false);
    int steps = 0;
    for (const auto& samples : replica.samples(kSamples, 4)) {
      if (replica.id() == 1 && (++steps == 3 || steps == 6)) {
        ++cuts;
        relay.cut();
      }
      model.compute(samples, session.exchange());
      const auto outcome = session.step().or_throw();
      dropped += outcome.reason().find("joined again") != std::string::npos;
    }
    const std::lock_guard lock(ends.mutex);
    ends.values[replica.id()] = model.values();
  };
  const auto recorders = recorders_for(3);
  std::vector<std::jthread> threads;
  for (std::uint32_t i = 0; i < 3; ++i)
    threads.emplace_back([&, mine = options, i]() mutable {
      mine.processes.join = i == 1 ? "unix:" + folder.file("relay") : servers.join();
      mine.processes.replica = i;
      mine.recorder = recorders[i];
      auto summary = run_job(mine, body);
      const std::lock_guard lock(ends.mutex);
      ends.summaries.emplace(i, std::move(summary));
    });
  threads.clear();
  EXPECT_EQ(cuts, 2);
  EXPECT_EQ(dropped, 2);
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(ends.summaries.at(i)) << ends.summaries.at(i).error().message;
    EXPECT_EQ(ends.summaries.at(i)->least_counted, 1u);
    EXPECT_EQ(ends.summaries.at(i)->most_counted, 1u);
    EXPECT_EQ(ends.values.at(i), ends.values.at(0));
  }
  EXPECT_TRUE(servers.ended(0));
  expect_kept(servers, recorders);
}

INSTANTIATE_TEST_SUITE_P(Strategies, CutOff, testing::Values(Strategy::sync, Strategy::async));

// A process that died, and another that takes its place: under its number, or whatever is free.
TEST(Rejoin, another_process_takes_the_place_of_one_that_died) {
  auto options = options_for(Strategy::sync, 2, 2);
  options.epochs = 1'000'000;  // until the last newcomer has seen enough
  Servers servers("shm", 2);
  Ends ends;
  enum class Fate { stays, dies, ends_it };
  std::atomic<bool> in_vain{false};  // nobody is left who would end it
  const auto run = [&](std::optional<std::uint32_t> number, Fate fate) {
    auto mine = options;
    mine.processes.join = servers.join();
    mine.processes.replica = number;
    return run_job(mine, [&](Replica& replica) {
      ToyModel model(0);
      auto& session = replica.open(model.layout(), model.places(), nullptr, false);
      int counted = 0;
      for (const auto& samples : replica.samples(kSamples, 4)) {
        if (fate == Fate::dies && counted == 2) throw std::runtime_error("it dies here");
        if (fate == Fate::ends_it && counted == 20) session.stop("it has seen enough");
        if (in_vain) session.stop("nobody else will");
        model.compute(samples, session.exchange());
        counted += !session.step().or_throw().dropped();
      }
      const std::lock_guard lock(ends.mutex);
      ends.values[replica.id()] = model.values();
    });
  };
  const auto lives_and_dies = [&](std::optional<std::uint32_t> number) {
    const auto ended = run(number, Fate::dies);
    ASSERT_FALSE(ended);
    EXPECT_NE(ended.error().message.find("it dies here"), std::string::npos) << ended.error().message;
  };
  Result<Summary> first = Error{Code::cancelled, ""}, last = first;
  {
    std::jthread stays([&] { first = run(0, Fate::stays); });
    lives_and_dies(1);
    lives_and_dies(std::nullopt);
    last = run(std::nullopt, Fate::ends_it);
    in_vain = !last;
  }
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ(ends.values.at(1), ends.values.at(0));
  EXPECT_EQ(first->least_counted, 1u);
  EXPECT_EQ(first->most_counted, 1u);
  EXPECT_EQ(first->replicas.at(1).lost, "");
  EXPECT_EQ(first->replicas.at(1).lives, 3u);
  EXPECT_TRUE(servers.ended(0));
}

TEST(Rejoin, one_that_is_heard_is_not_pushed_out) {
  auto options = options_for(Strategy::sync, 1, 1);
  Servers servers("unix", 1);
  Ends ends;
  std::string refused;
  run_members(
      options, servers.join(),
      [&](Replica& replica) {
        auto second = options;
        second.processes.join = servers.join();
        second.processes.replica = 0;
        const auto summary = run_job(second, [](Replica&) {});
        if (!summary) refused = summary.error().message;
        train_toy(replica, ends);
      },
      ends);
  EXPECT_NE(refused.find("replica 0 is there already"), std::string::npos) << refused;
  ASSERT_TRUE(ends.summaries.at(0)) << ends.summaries.at(0).error().message;
}

}  // namespace
}  // namespace yoke::train
