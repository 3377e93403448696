#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <limits>

#include "cluster/identity.h"
#include "history/checker.h"
#include "history/merge.h"
#include "train/members_fixture.h"
#include "transport/endpoint.h"
#include "wire/codec.h"
#include "yoke/run.h"

namespace yoke::train {
namespace {

class OverEach : public testing::TestWithParam<const char*> {};

TEST_P(OverEach, sync_gives_the_same_bits_as_in_one_process) {
  for (const std::uint32_t shards : {1, 3}) {
    const auto options = options_for(Strategy::sync, 3, shards);
    Servers servers(GetParam(), shards);
    Ends ends;
    run_members(
        options, servers.join(), [&](Replica& replica) { train_toy(replica, ends); }, ends);
    const auto expected = in_one_process(options);
    for (std::uint32_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(ends.summaries.at(i)) << ends.summaries.at(i).error().message;
      EXPECT_EQ(ends.values.at(i), expected) << "replica " << i;
      EXPECT_EQ(ends.summaries.at(i)->applied, 32u);
      EXPECT_EQ(ends.summaries.at(i)->least_counted, 1u);
      EXPECT_EQ(ends.summaries.at(i)->most_counted, 1u);
    }
    for (std::uint32_t i = 0; i < shards; ++i) EXPECT_TRUE(servers.ended(i));
  }
}

TEST_P(OverEach, every_strategy_keeps_its_promises) {
  for (const auto strategy : {Strategy::sync, Strategy::async}) {
    auto options = options_for(strategy, 3, 2);
    options.spares = strategy == Strategy::sync ? 1 : 0;
    Servers servers(GetParam(), 2, true);
    Ends ends;
    std::vector<std::shared_ptr<history::Recorder>> recorders;
    for (int i = 0; i < 3; ++i) recorders.push_back(std::make_shared<history::Recorder>());
    run_members(
        options, servers.join(), [&](Replica& replica) { train_toy(replica, ends); }, ends, recorders);
    for (std::uint32_t i = 0; i < 2; ++i) EXPECT_TRUE(servers.ended(i));
    auto parts = servers.histories();
    for (const auto& recorder : recorders) parts.push_back(recorder->events());
    for (const auto& finding : history::check(history::merge(std::move(parts)))) ADD_FAILURE() << finding;
  }
}

// Every gradient is 1 everywhere and the learning rate is 1, so version v is -v everywhere. One replica's last slot is
// not a number now and then: what was made of the others was sent ahead by then, and does not count.
void expect_whole_versions(Replica& replica) {
  Layout layout{{{"last", {7}, 0}, {"middle", {300'000}, 0}, {"first", {40'000}, 0}}, {SGD{.lr = 1}}};
  Values values{std::vector<float>(7), std::vector<float>(300'000), std::vector<float>(40'000)};
  auto& session = replica.open(layout, {values.begin(), values.end()}, nullptr, false);
  std::uint64_t refused = 0, round = 0;
  const auto look = [&](std::uint64_t version) {
    for (const auto& slot : values)
      for (const float value : slot) ASSERT_EQ(value, -static_cast<float>(version));
  };
  for (const auto& samples : replica.samples(kSamples, 1)) {
    ASSERT_FALSE(samples.empty());
    look(session.assignment().step);
    const bool spoilt = replica.id() == 1 && ++round % 3 == 0;
    for (SlotId slot = 3; slot-- > 0;) {
      auto gradient = std::make_shared<std::vector<float>>(values[slot].size(), 1.0f);
      if (spoilt && slot == 0) gradient->back() = std::numeric_limits<float>::quiet_NaN();
      session.exchange().ready(slot, {*gradient, gradient}).or_throw();
    }
    refused += session.step().or_throw().fate == Outcome::Fate::refused;
  }
  look(session.committed());
  EXPECT_EQ(refused > 0, replica.id() == 1);
}

TEST_P(OverEach, what_came_ahead_and_does_not_count_is_never_computed_on) {
  for (const std::uint32_t shards : {1, 2}) {
    Servers servers(GetParam(), shards);
    Ends ends;
    run_members(options_for(Strategy::sync, 2, shards), servers.join(), expect_whole_versions, ends);
    for (const auto& [id, end] : ends.summaries) EXPECT_TRUE(end) << end.error().message;
  }
}

TEST(Members, mirrored_what_came_ahead_and_does_not_count_is_never_computed_on) {
  const ScratchFolder folder;
  Ends ends;
  run_members(options_for(Strategy::mirrored, 2, 1), "shm:" + folder.path() + "/r", expect_whole_versions, ends);
  for (const auto& [id, end] : ends.summaries) EXPECT_TRUE(end) << end.error().message;
}

INSTANTIATE_TEST_SUITE_P(Transport, OverEach, testing::Values("shm", "unix", "tcp"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Members, mirrored_hosts_its_slices_itself_and_gives_the_same_bits) {
  for (const std::string transport : {"shm", "unix"}) {
    const ScratchFolder folder;
    const auto options = options_for(Strategy::mirrored, 3, 1);
    Ends ends;
    run_members(
        options, transport + ":" + folder.path() + "/r", [&](Replica& replica) { train_toy(replica, ends); }, ends);
    const auto expected = in_one_process(options);
    for (std::uint32_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(ends.summaries.at(i)) << ends.summaries.at(i).error().message;
      EXPECT_EQ(ends.values.at(i), expected) << "replica " << i;
    }
  }
}

TEST(Members, an_optimizer_of_ones_own_gets_the_mean_and_nothing_for_what_took_no_part) {
  const ScratchFolder folder;
  auto options = options_for(Strategy::mirrored, 2, 1);
  options.epochs = 1;
  Ends ends;
  const auto body = [&](Replica& replica) {
    const float mark = -77;
    Layout layout{{{"used", {5}, 0}, {"unused", {3}, 0}}, {Average{}}};
    Values values{std::vector<float>(5), std::vector<float>(3, 9)};
    auto& session = replica.open(layout, {std::span(values[0]), std::span(values[1])}, nullptr, false);
    Values means{std::vector<float>(5, mark), std::vector<float>(3, mark)};
    session.redirect({std::span(means[0]), std::span(means[1])});
    Values seen;
    session.on_applied([&] { seen = means; });
    for (const auto& samples : replica.samples(8, 2)) {
      for (auto& mean : means) std::fill(mean.begin(), mean.end(), mark);
      auto gradient = std::make_shared<std::vector<float>>(5, static_cast<float>(replica.id() + samples.size()));
      session.exchange().ready(0, {*gradient, gradient}).or_throw();
      session.step().or_throw();
      EXPECT_EQ(seen[0], std::vector<float>(5, 2.5f));  // of 2 and 3
      EXPECT_EQ(seen[1], std::vector<float>(3, mark));
    }
  };
  run_members(options, "shm:" + folder.path() + "/r", body, ends);
  for (const auto& [id, end] : ends.summaries) EXPECT_TRUE(end) << end.error().message;
}

TEST(Members, one_that_fails_with_a_spare_left_costs_nothing) {
  auto options = options_for(Strategy::sync, 3, 1);
  options.spares = 1;
  Servers servers("shm", 1);
  Ends ends;
  const auto body = [&](Replica& replica) {
    if (replica.id() == 2) {
      ToyModel model;
      replica.open(model.layout(), model.places(), nullptr, false);
      throw std::runtime_error("a body that fails");
    }
    train_toy(replica, ends);
  };
  run_members(options, servers.join(), body, ends);
  ASSERT_TRUE(ends.summaries.at(0)) << ends.summaries.at(0).error().message;
  EXPECT_NE(ends.summaries.at(0)->replicas[2].lost.find("a body that fails"), std::string::npos);
  EXPECT_EQ(ends.summaries.at(0)->epochs, 2u);
  ASSERT_FALSE(ends.summaries.at(2));
  EXPECT_NE(ends.summaries.at(2).error().message.find("a body that fails"), std::string::npos);
}

TEST(Members, networks_that_differ_are_told_what_differs) {
  const auto options = options_for(Strategy::sync, 2, 1);
  Servers servers("shm", 1);
  Ends ends;
  const auto body = [&](Replica& replica) {
    Layout layout{{{"weight", {replica.id() + 1}, 0}}, {SGD{}}};
    std::vector<float> values(replica.id() + 1);
    auto& session = replica.open(layout, {std::span(values)}, nullptr, false);
    session.start(8, 1).or_throw();
  };
  run_members(options, servers.join(), body, ends);
  std::string text;
  for (const auto& [i, end] : ends.summaries)
    if (!end) text += end.error().message + "\n";
  EXPECT_NE(text.find("networks differ: weight is ["), std::string::npos) << text;
}

TEST(Members, a_frozen_slot_starts_from_the_chiefs_values) {
  const auto options = options_for(Strategy::sync, 2, 2);
  Servers servers("unix", 2);
  Ends ends;
  const auto body = [&](Replica& replica) {
    Layout layout{{{"frozen", {300'000}, 0, true}, {"trained", {5}, 0}}, {SGD{}}};
    Values values{std::vector<float>(300'000, static_cast<float>(replica.id() + 7)), std::vector<float>(5)};
    auto& session = replica.open(layout, {std::span(values[0]), std::span(values[1])}, nullptr, false);
    session.start(8, 4).or_throw();
    const std::lock_guard lock(ends.mutex);
    ends.values[replica.id()] = values;
  };
  run_members(options, servers.join(), body, ends);
  EXPECT_EQ(ends.values.at(1)[0], std::vector<float>(300'000, 7.0f));
}

TEST(Members, a_chief_that_is_lost_before_it_brought_the_values_is_named) {
  const auto options = options_for(Strategy::sync, 2, 1);
  Servers servers("shm", 1);
  Ends ends;
  const auto body = [&](Replica& replica) {
    if (replica.id() == 0) throw std::runtime_error("no such data");
    train_toy(replica, ends);
  };
  run_members(options, servers.join(), body, ends);
  ASSERT_FALSE(ends.summaries.at(1));
  EXPECT_NE(ends.summaries.at(1).error().message.find("no such data"), std::string::npos)
      << ends.summaries.at(1).error().message;
}

// All of them, also the one that hangs: it is not what is left when the others have had enough.
TEST(Members, a_job_that_hangs_ends_for_all_at_the_deadline) {
  auto options = options_for(Strategy::sync, 3, 2);
  options.deadline = std::chrono::seconds(3);  // long enough for a start, also on a machine that is busy
  std::latch pushed{2};                        // by those that do not hang, before any of them waits
  Servers servers("unix", 2);
  Ends ends;
  std::atomic<bool> abandoned{false};
  const auto body = [&](Replica& replica) {
    ToyModel model(0);
    auto& session = replica.open(model.layout(), model.places(), nullptr, false);
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    bool arrived = false;
    for (const auto& samples : replica.samples(kSamples, 4)) {
      if (replica.id() == 1)
        while (!(abandoned = session.exchange().abandoned()) && std::chrono::steady_clock::now() < give_up)
          std::this_thread::yield();
      model.compute(samples, session.exchange());
      if (replica.id() != 1 && !std::exchange(arrived, true)) pushed.arrive_and_wait();
      session.step().or_throw();
    }
  };
  run_members(options, servers.join(), body, ends);
  EXPECT_TRUE(abandoned);
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_FALSE(ends.summaries.at(i));
    EXPECT_NE(ends.summaries.at(i).error().message.find("waiting for replica 1"), std::string::npos)
        << ends.summaries.at(i).error().message;
  }
  const auto ended = servers.ended(0);
  ASSERT_FALSE(ended);
  EXPECT_NE(ended.error().message.find("waiting for replica 1"), std::string::npos) << ended.error().message;
}

// Says one thing as soon as it may, and goes.
class Stranger : public transport::Handler {
 public:
  explicit Stranger(wire::JobMessage message) : message_(std::move(message)) {}
  void on_up(transport::Connection& connection, const std::string&) override {
    connection.send(wire::encode(message_));
    connection.finish("it has said what it had to");
  }
  Result<transport::Sink> on_announced(transport::Connection&, const transport::Incoming&) override {
    return Error{Code::corrupt, "no payload"};
  }
  void on_message(transport::Connection&, transport::Incoming, transport::Bytes) override {}
  void on_down(transport::Connection&, const transport::Failure&) override { gone_.set_value(); }

  // The server has heard it by then, as it closes its side afterwards.
  void visit(const std::string& where) {
    const auto address = transport::parse_address(where).or_throw();
    const int fd = transport::dial(address, {}, std::chrono::seconds(30)).or_throw();
    const auto identity = cluster::this_process(wire::Role::watcher, 0);
    transport::Settings settings;
    settings.introduction = wire::encode_identity(identity);
    settings.incarnation = identity.incarnation;
    transport::LoopThread thread("stranger");
    thread.loop().post([&] { transport::adopt(thread.loop(), fd, address, settings, *this); });
    gone_.get_future().wait();
  }

 private:
  wire::JobMessage message_;
  std::promise<void> gone_;
};

TEST(Members, a_watcher_cannot_end_the_job) {
  const auto options = options_for(Strategy::sync, 2, 1);
  Servers servers("unix", 1);
  Stranger(wire::Leaving{"it hangs, believe me", false, 1e-9}).visit(servers.join());
  Stranger(wire::StopNow{"enough"}).visit(servers.join());
  Ends ends;
  run_members(
      options, servers.join(), [&](Replica& replica) { train_toy(replica, ends); }, ends);
  for (std::uint32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(ends.summaries.at(i)) << ends.summaries.at(i).error().message;
    EXPECT_EQ(ends.summaries.at(i)->stopped, "");
  }
  EXPECT_TRUE(servers.ended(0));
}

TEST(Members, nobody_at_the_address_is_an_error_with_the_address) {
  auto options = options_for(Strategy::sync, 1, 1);
  options.deadline = std::chrono::milliseconds(100);
  options.processes.join = "unix:/nowhere/at/all";
  const auto summary = run_job(options, [](Replica&) {});
  ASSERT_FALSE(summary);
  EXPECT_NE(summary.error().message.find("/nowhere/at/all"), std::string::npos) << summary.error().message;
}

}  // namespace
}  // namespace yoke::train
