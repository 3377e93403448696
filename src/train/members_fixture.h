// Jobs whose replicas are processes of their own, run in tests as threads that share nothing but their connections:
// each has its own member, each server its own loop.
#pragma once

#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/scratch_folder.h"
#include "cluster/house.h"
#include "train/session.h"
#include "train/toy_model.h"
#include "yoke/run.h"

namespace yoke::train {

// The servers of a job, each with its loop.
class Servers {
 public:
  Servers(const std::string& transport, std::uint32_t count, bool record = false,
          const std::optional<cluster::Lodging>& containers = {}, const Checkpoints& checkpoints = {}) {
    for (std::uint32_t i = 0; i < count; ++i) {
      auto& host = hosts_.emplace_back(std::make_unique<Host>());
      cluster::HouseOptions options;
      options.shard = i;
      options.shards = count;
      options.listen =
          transport == "tcp" ? "tcp:127.0.0.1:0" : transport + ":" + folder_.path() + "/s" + std::to_string(i);
      options.join = i ? join_ : "";
      options.workers = 1;
      options.containers = containers;
      options.checkpoints = checkpoints;
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
  // Tells all of them to end, one after the other.
  void stop() {
    for (auto& host : hosts_) host->thread.loop().post([&] { host->house->stop("the test ends it"); });
  }
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
  ScratchFolder folder_;
  std::string join_;
  std::vector<std::unique_ptr<Host>> hosts_;
};

inline constexpr std::uint64_t kSamples = 64;
using Values = std::vector<std::vector<float>>;

// What each replica ended with, by number.
struct Ends {
  std::mutex mutex;
  std::map<std::uint32_t, Values> values;
  std::map<std::uint32_t, Result<Summary>> summaries;
};

// The body of every replica here: the toy model to the end.
inline void train_toy(Replica& replica, Ends& ends) {
  ToyModel model(static_cast<float>(replica.id()));  // the chief's values count
  auto& session = replica.open(model.layout(), model.places(), nullptr, false);
  for (const auto& samples : replica.samples(kSamples, 4)) {
    model.compute(samples, session.exchange());
    session.step().or_throw();
  }
  const std::lock_guard lock(ends.mutex);
  ends.values[replica.id()] = model.values();
}

inline Options options_for(Strategy strategy, std::uint32_t replicas, std::uint32_t shards) {
  Options options;
  options.strategy = strategy;
  options.replicas = replicas;
  options.shards = shards;
  options.epochs = 2;
  options.deadline = std::chrono::seconds(30);
  return options;
}

// Runs the body in as many members as there are replicas, each in a thread.
inline void run_members(Options options, const std::string& join, const std::function<void(Replica&)>& body, Ends& ends,
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

// The same job as threads of this process.
inline Values in_one_process(Options options) {
  options.processes = {};
  Ends ends;
  run_job(options, [&](Replica& replica) { train_toy(replica, ends); }).or_throw();
  return ends.values.at(0);
}

}  // namespace yoke::train
