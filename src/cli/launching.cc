#include "cli/launching.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/exit_status.h"
#include "cli/outputs.h"
#include "cli/processes.h"
#include "cli/security_flags.h"
#include "history/checker.h"
#include "history/history_file.h"
#include "history/merge.h"
#include "launch/local_job.h"
#include "launch/own_address.h"
#include "launch/scratch.h"
#include "launch/words.h"

namespace yoke::cli {
namespace {

static_assert(launch::failed({.status = kFailed}) && launch::failed({.status = kNotHere}));
static_assert(!launch::failed({.status = kDone}) && !launch::failed({.status = kPromiseBroken}));

const char* lookup(const char* name) { return std::getenv(name); }

class Launching {
 public:
  explicit Launching(const LaunchPlan& plan) : plan_(plan) {}

  Result<int> run() {
    if (auto writable = can_write("--history", plan_.flags.history); !writable) return writable.error();
    auto scratch = launch::Scratch::make(lookup);
    if (!scratch) return scratch.error();
    scratch_ = std::move(*scratch);
    if (auto passed = pass_on(plan_.flags.options.processes.security, scratch_->path()); !passed) return passed.error();
    std::error_code unknown;
    self_ = std::filesystem::read_symlink("/proc/self/exe", unknown).string();
    if (unknown) return Error{Code::unsupported, "this program's own file cannot be found in /proc"};
    launch::Supervisor supervisor;
    launch::LocalJob job;
    job.servers = plan_.servers;
    job.replicas = plan_.flags.options.replicas;
    job.join = plan_.join;
    job.served_elsewhere = !plan_.join.empty();
    if (plan_.servers == 0 && plan_.join.empty()) {
      auto join = plan_.transport == "tcp" ? launch::free_loopback_address() : address("r0");
      if (!join) return join.error();
      job.join = *join;
    }
    job.stopping = plan_.program.empty() ? "stopping after this step and saving; once more to stop at once"
                                         : "stopping; once more to stop at once";
    job.server = [this](std::uint32_t i, const std::string& join) { return server(i, join); };
    job.replica = [this](std::uint32_t i, const std::string& join) { return replica(i, join); };
    const auto end = launch::run_local_job(supervisor, job, [](const std::string& text) {
      std::fflush(stdout);
      fmt::print(stderr, "[launch] {}\n", text);
    });
    if (!end) return end.error();
    const int status = status_of(*end);
    if (auto checked = judge_history(status); !checked || *checked != kDone) return checked;
    return status;
  }

 private:
  std::string result_file() const { return scratch_->path() + "/result"; }

  bool records() const { return plan_.flags.check || !plan_.flags.history.empty(); }

  std::string part(const std::string& name) {
    const auto file = scratch_->path() + "/history-" + name;
    parts_.push_back(file);
    return file;
  }

  // Where a process of this name listens.
  Result<std::string> address(const std::string& name) const {
    if (plan_.transport == "tcp") return std::string("tcp:127.0.0.1:0");
    auto path = scratch_->socket(name);
    if (!path) return path.error();
    return plan_.transport + ":" + *path;
  }

  launch::ChildSpec server(std::uint32_t i, const std::string& join) {
    launch::ChildSpec spec;
    spec.name = fmt::format("server {}", i);
    spec.argv = {self_,      "server",
                 "--shard",  fmt::format("{}/{}", i, plan_.servers),
                 "--listen", *address(fmt::format("s{}", i))};
    if (!join.empty()) spec.argv.insert(spec.argv.end(), {"--join", join});
    if (records()) spec.argv.insert(spec.argv.end(), {"--history", part(fmt::format("s{}", i))});
    if (plan_.flags.quiet) spec.argv.push_back("--quiet");
    spec.standard_output = launch::StandardOutput::capture;
    spec.ready_pipe = true;
    return spec;
  }

  // What the launcher settled is said to every replica in so many words.
  std::vector<std::string> job_words() const {
    auto words = without_flags(plan_.words, {"--replicas", "--shards"}, {});
    words.insert(words.end(), {"--replicas", std::to_string(plan_.flags.options.replicas)});
    if (plan_.servers > 0) words.insert(words.end(), {"--shards", std::to_string(plan_.servers)});
    return words;
  }

  launch::ChildSpec replica(std::uint32_t i, const std::string& join) {
    launch::ChildSpec spec;
    spec.name = fmt::format("replica {}", i);
    const auto& container = plan_.flags.options.processes.container;
    if (i == 0 && !plan_.flags.quiet && !container.empty())
      fmt::print("container {}, {} replica{}; `yoke status {} --container {}` tells how it goes\n", container,
                 plan_.flags.options.replicas, plan_.flags.options.replicas == 1 ? "" : "s", join, container);
    else if (i == 0 && !plan_.flags.quiet)
      fmt::print("{} server{}, {} replica{}; `yoke status {}` tells how it goes\n", plan_.servers,
                 plan_.servers == 1 ? "" : "s", plan_.flags.options.replicas,
                 plan_.flags.options.replicas == 1 ? "" : "s", join);
    std::fflush(stdout);
    spec.environment = {std::string(launch::kJoinVariable) + "=" + join,
                        fmt::format("{}={}", launch::kReplicaVariable, i),
                        std::string(kCommandVariable) + "=" + launch::join_words(plan_.typed),
                        std::string(kResultVariable) + "=" + result_file()};
    if (!container.empty()) spec.environment.push_back(std::string(kContainerVariable) + "=" + container);
    if (plan_.program.empty()) {
      spec.argv = {self_, "replica"};
      const auto words = job_words();
      spec.argv.insert(spec.argv.end(), words.begin(), words.end());
      if (records()) spec.argv.insert(spec.argv.end(), {"--history", part(fmt::format("r{}", i))});
      // The chief's progress and result are the job's own; the others say nothing there.
      spec.standard_output = launch::StandardOutput::inherit;
    } else {
      spec.argv = plan_.program;
      spec.environment.push_back(std::string(launch::kFlagsVariable) + "=" + launch::join_words(job_words()));
      if (records()) spec.environment.push_back(std::string(kHistoryVariable) + "=" + part(fmt::format("r{}", i)));
      spec.standard_output = launch::StandardOutput::capture;
    }
    return spec;
  }

  // Puts the parts together, and holds them against the promises.
  Result<int> judge_history(int status) {
    if (!records()) return static_cast<int>(kDone);
    std::vector<std::vector<history::Event>> events;
    for (const auto& file : parts_) {
      if (!std::filesystem::exists(file)) continue;  // its process never got so far
      auto read = history::read_history(file);
      if (!read) return read.error();
      events.push_back(std::move(*read));
    }
    const auto all = history::merge(std::move(events));
    if (all.empty() || !std::holds_alternative<history::Terms>(all.front().what)) {
      fmt::print(stderr, "[launch] training never began, so there is no history to write or to check\n");
      return status == kDone ? static_cast<int>(kFailed) : status;
    }
    if (!plan_.flags.history.empty())
      if (auto written = write_file(plan_.flags.history, history::to_json_lines(all)); !written) return written.error();
    if (!plan_.flags.check) return static_cast<int>(kDone);
    const auto violations = history::check(all);
    for (const auto& violation : violations) fmt::print("BROKEN PROMISE: {}\n", violation);
    if (violations.empty()) fmt::print("every promise held over the recorded history ({} events)\n", all.size());
    return static_cast<int>(violations.empty() ? kDone : kPromiseBroken);
  }

  // The job's: that of the replica that drew the conclusion and wrote its files. One that was lost on the way does not
  // count, unless nobody was left. A program of the user's own has no such file: all that ended well count.
  int status_of(const launch::JobEnd& end) const {
    int status = kDone;
    bool concluded = false;
    if (plan_.program.empty()) {
      std::ifstream file(result_file());
      if (file >> status) return status;
      return failed(end);
    }
    for (const auto& ending : end.replicas) {
      if (!ending || launch::failed(*ending)) continue;
      concluded = true;
      status = std::max(status, ending->status);
    }
    if (!end.served || !concluded) return failed(end);
    return status;
  }

  // The worst that a replica said of itself.
  static int failed(const launch::JobEnd& end) {
    if (end.signal != 0) return end.signal == SIGINT ? kInterrupted : kTerminated;
    int worst = kFailed;
    for (const auto& ending : end.replicas)
      if (ending && ending->signal == 0 && ending->status < kPromiseBroken) worst = std::max(worst, ending->status);
    return worst;
  }

  const LaunchPlan& plan_;
  std::unique_ptr<launch::Scratch> scratch_;
  std::string self_;
  std::vector<std::string> parts_;
};

}  // namespace

std::vector<std::string> without_flags(const std::vector<std::string>& words,
                                       const std::vector<std::string>& with_value,
                                       const std::vector<std::string>& bare) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto name = words[i].substr(0, words[i].find('='));
    if (std::find(bare.begin(), bare.end(), name) != bare.end()) continue;
    if (std::find(with_value.begin(), with_value.end(), name) != with_value.end()) {
      if (name.size() == words[i].size()) ++i;  // and its value
      continue;
    }
    kept.push_back(words[i]);
  }
  return kept;
}

Status check_container(const TrainFlags& flags, const std::string& join) {
  const auto& container = flags.options.processes.container;
  if (container.empty() != join.empty())
    return Error{Code::invalid_argument,
                 join.empty() ? "--container " + container +
                                    ": say with --join ADDRESS where the first server of `yoke serve` listens"
                              : "--join is of a job in a container: say with --container NAME which (or start `yoke "
                                "replica`)"};
  if (!container.empty() && (flags.check || !flags.history.empty()))
    return Error{Code::invalid_argument,
                 "--check and --history need the servers' part, and servers with containers record nothing: leave them "
                 "out"};
  return {};
}

int run_launch(const LaunchPlan& plan) {
  const auto status = Launching(plan).run();
  return status ? *status : fail(status.error());
}

}  // namespace yoke::cli
