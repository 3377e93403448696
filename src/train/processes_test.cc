// Jobs whose replicas are processes of their own, run here as threads that share nothing but their connections: each
// has its own member, each server its own loop.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <latch>
#include <mutex>

#include "cluster/house.h"
#include "cluster/identity.h"
#include "history/checker.h"
#include "history/merge.h"
#include "train/session.h"
#include "train/toy_model.h"
#include "transport/endpoint.h"
#include "wire/codec.h"
#include "yoke/run.h"

namespace yoke::train {
namespace {

// A folder for sockets.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/yoke-test-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The servers of a job, each with its loop.
class Servers {
 public:
  Servers(const std::string& transport, std::uint32_t count, bool record = false) {
    for (std::uint32_t i = 0; i < count; ++i) {
      auto& host = hosts_.emplace_back(std::make_unique<Host>());
      cluster::HouseOptions options;
      options.shard = i;
      options.shards = count;
      options.listen =
          transport == "tcp" ? "tcp:127.0.0.1:0" : transport + ":" + folder_.path() + "/s" + std::to_string(i);
      options.join = i ? join_ : "";
      options.workers = 1;
      options.ended = [at = host.get()](const Status& status) {
        if (!at->told.exchange(true)) at->ended.set_value(status);
      };
      if (record) options.recorder = host->recorder = std::make_shared<history::Recorder>();
      std::promise<void> up;
      host->thread.loop().post([&] {
        host->house = cluster::House::open(host->thread.loop(), options).or_throw();
        up.set_value();
      });
      up.get_future().wait();
      if (i == 0) join_ = host->house->address();
    }
  }
  ~Servers() {
    for (auto& host : hosts_) host->thread.stop();
  }
  const std::string& join() const { return join_; }
  Status ended(std::uint32_t i) {
    auto future = hosts_[i]->ended.get_future();
    if (future.wait_for(std::chrono::seconds(30)) != std::future_status::ready)
      return Error{Code::timed_out, "the server has not ended"};
    return future.get();
  }
  std::vector<std::vector<history::Event>> histories() const {
    std::vector<std::vector<history::Event>> parts;
    for (const auto& host : hosts_) parts.push_back(host->recorder->events());
    return parts;
  }

 private:
  struct Host {
    transport::LoopThread thread{"test-server"};
    std::unique_ptr<cluster::House> house;
    std::shared_ptr<history::Recorder> recorder;
    std::promise<Status> ended;
    std::atomic<bool> told{false};
  };
  Folder folder_;
  std::string join_;
  std::vector<std::unique_ptr<Host>> hosts_;
};

constexpr std::uint64_t kSamples = 64;
using Values = std::vector<std::vector<float>>;

// What each replica ended with, by number.
struct Ends {
  std::mutex mutex;
  std::map<std::uint32_t, Values> values;
  std::map<std::uint32_t, Result<Summary>> summaries;
};

// The body of every replica here: the toy model to the end.
void train_toy(Replica& replica, Ends& ends) {
  ToyModel model(static_cast<float>(replica.id()));  // the chief's values count
  auto& session = replica.open(model.layout(), model.places(), nullptr, false);
  for (const auto& samples : replica.samples(kSamples, 4)) {
    model.compute(samples, session.exchange());
    session.step().or_throw();
  }
  const std::lock_guard lock(ends.mutex);
  ends.values[replica.id()] = model.values();
}

Options options_for(Strategy strategy, std::uint32_t replicas, std::uint32_t shards) {
  Options options;
  options.strategy = strategy;
  options.replicas = replicas;
  options.shards = shards;
  options.epochs = 2;
  options.deadline = std::chrono::seconds(30);
  return options;
}

// Runs the body in as many members as there are replicas, each in a thread.
void run_members(Options options, const std::string& join, const std::function<void(Replica&)>& body, Ends& ends,
                 std::vector<std::shared_ptr<history::Recorder>> recorders = {}) {
  std::vector<std::jthread> threads;
  for (std::uint32_t i = 0; i < options.replicas; ++i)
    threads.emplace_back([&, mine = options, i]() mutable {
      mine.processes.join = join;
      mine.processes.replica = i;
      if (!recorders.empty()) mine.recorder = recorders[i];
      if (mine.strategy == Strategy::mirrored) {
        mine.processes.listen = i ? join + "." + std::to_string(i) : join;
        mine.processes.hosts_shard = i;
        mine.processes.hosts_of = mine.replicas;
      }
      auto summary = run_job(mine, body);
      const std::lock_guard lock(ends.mutex);
      ends.summaries.emplace(i, std::move(summary));
    });
}

Values in_one_process(const Options& options) {
  Ends ends;
  run_job(options, [&](Replica& replica) { train_toy(replica, ends); }).or_throw();
  return ends.values.at(0);
}

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

INSTANTIATE_TEST_SUITE_P(Transport, OverEach, testing::Values("shm", "unix", "tcp"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Members, mirrored_hosts_its_slices_itself_and_gives_the_same_bits) {
  for (const std::string transport : {"shm", "unix"}) {
    const Folder folder;
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
  const Folder folder;
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
    const int fd = transport::dial(address, std::chrono::seconds(30)).or_throw();
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
