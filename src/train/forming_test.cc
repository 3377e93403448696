// Mirrored between processes: replicas that host the parameters are lost, and others come, in the middle of a job.
#include <gtest/gtest.h>

#include "history/checker.h"
#include "history/merge.h"
#include "train/members_fixture.h"

namespace yoke::train {
namespace {

constexpr int kDiesAfter = 5;  // steps

// The toy with an optimizer that remembers, to the end; some throw in the middle.
void train(Replica& replica, Ends& ends, const std::function<bool(int)>& dies) {
  ToyModel model(static_cast<float>(replica.id()), Adam{.lr = 0.01});
  auto& session = replica.open(model.layout(), model.places(), nullptr, false);
  int steps = 0;
  for (const auto& samples : replica.samples(kSamples, 4)) {
    if (dies(steps++)) throw std::runtime_error("it dies here");
    model.compute(samples, session.exchange());
    session.step().or_throw();
  }
  const std::lock_guard lock(ends.mutex);
  ends.values[replica.id()] = model.values();
}

Options mirrored(std::uint32_t replicas) {
  auto options = options_for(Strategy::mirrored, replicas, 1);
  options.epochs = 4;
  options.deterministic = true;
  return options;
}

struct LossWay {
  std::string transport;
  std::uint32_t replicas, dies;
};
class Loss : public testing::TestWithParam<LossWay> {};

// Threads of one process that are stopped when so many steps are made, and gone on with by as many as are left.
Values stopped_and_resumed(Options options) {
  const ScratchFolder folder;
  const auto never = [](int) { return false; };
  Ends ends;
  options.checkpoints.folder = folder.path();
  options.steps = kDiesAfter;
  run_job(options, [&](Replica& replica) { train(replica, ends, never); }).or_throw();
  options.checkpoints.resume = folder.path();
  options.steps = 0;
  --options.replicas;
  run_job(options, [&](Replica& replica) { train(replica, ends, never); }).or_throw();
  return ends.values.at(0);
}

TEST_P(Loss, of_a_replica_changes_no_bit) {
  const auto [transport, replicas, dies] = GetParam();
  const auto options = mirrored(replicas);
  const auto wanted = stopped_and_resumed(options);
  const ScratchFolder folder;
  std::vector<std::shared_ptr<history::Recorder>> recorders(replicas);
  for (auto& recorder : recorders) recorder = std::make_shared<history::Recorder>();
  Ends ends;
  const auto body = [&, victim = dies](Replica& replica) {
    train(replica, ends, [&](int steps) { return replica.id() == victim && steps == kDiesAfter; });
  };
  run_members(options, transport + ":" + folder.file("job"), body, ends, recorders);
  for (std::uint32_t i = 0; i < replicas; ++i) {
    if (i == dies) continue;
    if (!ends.summaries.at(i)) ADD_FAILURE() << "replica " << i << ": " << ends.summaries.at(i).error().message;
  }
  for (std::uint32_t i = 0; i < replicas; ++i) {
    if (i == dies) continue;
    ASSERT_TRUE(ends.summaries.at(i)) << ends.summaries.at(i).error().message;
    EXPECT_EQ(ends.values.at(i), wanted) << "replica " << i;
  }
  std::vector<std::vector<history::Event>> parts;
  for (const auto& recorder : recorders) parts.push_back(recorder->events());
  for (const auto& broken : history::check(history::merge(parts))) ADD_FAILURE() << broken;
}

std::vector<LossWay> ways() {
  std::vector<LossWay> all;
  for (const auto* transport : {"shm", "unix"})
    for (std::uint32_t replicas = 2; replicas <= 3; ++replicas)
      for (std::uint32_t dies = 0; dies < replicas; ++dies) all.push_back({transport, replicas, dies});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Ways, Loss, testing::ValuesIn(ways()), [](const auto& way) {
  return way.param.transport + "_" + std::to_string(way.param.dies) + "_of_" + std::to_string(way.param.replicas);
});

// Each of them is lost once, and comes back under its number, or on whatever seat is free.
TEST(Forming, newcomers_take_the_state_from_those_that_are_there) {
  auto options = mirrored(3);
  options.epochs = 1'000'000;  // until the last newcomer has seen enough
  const ScratchFolder folder;
  const auto address = [&](std::uint32_t i) {
    return "shm:" + folder.file("job") + (i ? "." + std::to_string(i) : "");
  };
  Ends ends;
  enum class Fate { dies, stays, ends_it };
  std::atomic<int> deaths{0};
  std::atomic<bool> in_vain{false};  // nobody is left who would end it
  const auto run = [&](std::uint32_t i, bool again, bool numbered, Fate fate) {
    auto mine = options;
    mine.processes.join = address(0);
    if (numbered) mine.processes.replica = i;
    mine.processes.listen = address(i);
    mine.processes.hosts_shard = i;
    mine.processes.hosts_of = mine.replicas;
    if (again)
      for (std::uint32_t other = 0; other < 3; ++other)
        if (other != i) mine.processes.members.push_back(address(other));
    return run_job(mine, [&](Replica& replica) {
      ToyModel model(static_cast<float>(replica.id()), Adam{.lr = 0.01});
      auto& session = replica.open(model.layout(), model.places(), nullptr, false);
      int counted = 0;
      for (const auto& samples : replica.samples(kSamples, 4)) {
        if (fate == Fate::dies && counted == kDiesAfter) throw std::runtime_error("it dies here");
        if (fate == Fate::ends_it && counted >= 3 * kDiesAfter && deaths == 4) session.stop("it has seen enough");
        if (in_vain) session.stop("nobody else will");
        model.compute(samples, session.exchange());
        counted += !session.step().or_throw().dropped();
      }
      const std::lock_guard lock(ends.mutex);
      ends.values[replica.id()] = model.values();
    });
  };
  const auto lives_and_dies = [&](std::uint32_t i, bool again) {
    const auto ended = run(i, again, true, Fate::dies);
    ASSERT_FALSE(ended);
    EXPECT_NE(ended.error().message.find("it dies here"), std::string::npos) << i << ": " << ended.error().message;
    ++deaths;
  };
  Result<Summary> stays = Error{Code::cancelled, ""}, last = stays;
  {
    std::jthread one([&] { stays = run(1, false, true, Fate::stays); });
    std::jthread zero([&] {
      lives_and_dies(0, false);
      lives_and_dies(0, true);
      last = run(0, true, false, Fate::ends_it);
      in_vain = !last;
    });
    lives_and_dies(2, false);
    lives_and_dies(2, true);
  }
  ASSERT_TRUE(stays) << stays.error().message;
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ(ends.values.at(0), ends.values.at(1));
}

TEST(Forming, a_slice_that_is_lost_with_its_twin_ends_the_job_and_says_so) {
  auto options = mirrored(4);
  options.deadline = std::chrono::seconds(10);
  const ScratchFolder folder;
  Ends ends;
  run_members(
      options, "shm:" + folder.file("job"),
      [&](Replica& replica) {
        train(replica, ends, [&](int steps) { return replica.id() < 3 && steps == kDiesAfter; });
      },
      ends);
  // What is left may still be whole, where they did not go at once; but whoever goes on ends well or says why not.
  if (!ends.summaries.at(3)) {
    EXPECT_NE(ends.summaries.at(3).error().message.find("both replicas that held it"), std::string::npos)
        << ends.summaries.at(3).error().message;
  }
}

}  // namespace
}  // namespace yoke::train
