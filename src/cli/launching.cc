#include "cli/launching.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "cli/checkpoint_flags.h"
#include "cli/early_end.h"
#include "cli/exit_status.h"
#include "cli/going_on.h"
#include "cli/outputs.h"
#include "cli/processes.h"
#include "cli/security_flags.h"
#include "history/checker.h"
#include "history/history_file.h"
#include "history/merge.h"
#include "launch/cores.h"
#include "launch/local_job.h"
#include "launch/post.h"
#include "launch/scratch.h"
#include "launch/seating.h"
#include "launch/words.h"
#include "train/machine.h"

namespace yoke::cli {
namespace {

static_assert(launch::failed({.status = kFailed}) && launch::failed({.status = kNotHere}));
static_assert(!launch::failed({.status = kDone}) && !launch::failed({.status = kPromiseBroken}));

// Servers that keep checkpoints write the last one when the replicas have gone.
constexpr std::chrono::minutes kLastCheckpoint{5};

const char* lookup(const char* name) { return std::getenv(name); }

class Launching {
 public:
  explicit Launching(const LaunchPlan& plan) : plan_(plan) {}

  Result<int> run() {
    if (auto writable = can_write("--history", plan_.flags.history); !writable) return writable.error();
    launch::Supervisor supervisor;  // before a meeting may start a thread
    if (plan_.place.kind == launch::Place::Kind::mpirun || plan_.place.kind == launch::Place::Kind::slurm)
      supervisor.end_with_parent();
    auto scratch = launch::Scratch::make(lookup);
    if (!scratch) return scratch.error();
    scratch_ = std::move(*scratch);
    if (auto passed = pass_on(plan_.flags.options.processes.security, scratch_->path()); !passed) return passed.error();
    std::error_code unknown;
    self_ = std::filesystem::read_symlink("/proc/self/exe", unknown).string();
    if (unknown) return Error{Code::unsupported, "this program's own file cannot be found in /proc"};
    const auto end = run_part(supervisor);
    if (!end && stopped_by_ != 0) {  // before there was anything to stop
      fail(end.error());
      return static_cast<int>(stopped_by_ == SIGINT ? kInterrupted : kTerminated);
    }
    if (!end) return end.error();
    const int status = status_of(*end);
    say_early_end(*end, status);
    if (!post_->alone()) return status;
    if (auto checked = judge_history(status); !checked || *checked != kDone) return checked;
    return status;
  }

 private:
  Result<launch::JobEnd> run_part(launch::Supervisor& supervisor) {
    const auto waiting = [&] {
      return launch::Waiting{launch::Waiting::Clock::now() + plan_.flags.options.deadline,
                             [&](std::chrono::milliseconds time) {
                               supervisor.pause(time);
                               stopped_by_ = supervisor.signalled();
                               return stopped_by_ == 0;
                             }};
    };
    auto post = launch::Post::take(lookup, plan_.place,
                                   {.roles = plan_.roles,
                                    .folder = plan_.meet,
                                    .host = plan_.host,
                                    .transport = plan_.transport,
                                    .scratch = scratch_->path()},
                                   waiting());
    if (!post) return post.error();
    post_ = std::move(*post);
    launch::LocalJob job;
    job.part = post_->part();
    job.mirrored = plan_.roles.mirrored;
    job.ends_together = plan_.roles.served && plan_.program.empty();
    job.elsewhere = !post_->alone();
    job.announce = [&](const std::string& join) { return post_->announce(join, waiting()); };
    if (plan_.roles.served) {
      job.join = plan_.join;
    } else if (!post_->has_first()) {
      auto join = post_->hear(waiting());
      if (!join) return join.error();
      job.join = *join;
    }
    if (job.mirrored) {
      auto listens = post_->listen_replicas(job.join);
      if (!listens) return listens.error();
      listens_ = std::move(*listens);
    }
    if (post_->has_first() && job.mirrored) {
      job.join = listens_.front();
      if (auto told = job.announce(job.join); !told) return told.error();
    }
    const bool keeps = !plan_.flags.options.checkpoints.folder.empty();
    if (keeps) job.patience.servers_end = kLastCheckpoint;
    job.keeps = keeps && !(job.mirrored && !plan_.program.empty());  // a program of one's own has no ear for it
    job.restarts.times = plan_.flags.restarts;
    job.stopping = plan_.program.empty() ? "stopping after this step and saving; once more to stop at once"
                                         : "stopping; once more to stop at once";
    job.server = [this](std::uint32_t i, const std::string& join) { return server(i, join); };
    if (plan_.backups) {
      for (auto i = post_->roles().servers; i < post_->roles().servers * (1 + *plan_.backups); ++i)
        job.part.servers.push_back(i);
      job.coordinator = [this](const std::string& listened) { return coordinator(listened); };
    }
    if (plan_.bind && job.mirrored && plan_.flags.options.threads_per_replica == 1 && !train::read_machine().quota)
      cores_ = launch::a_core_each(job.part.replicas.size(), launch::cores_here());
    job.replica = [this](std::uint32_t i, const std::string& join) { return replica(i, join); };
    return launch::run_local_job(supervisor, job, say);
  }

  static void say(const std::string& text) {
    std::fflush(stdout);
    launch::print_line("launch", text, true);  // which bears that nobody reads it any more
  }

  std::string result_file() const { return scratch_->path() + "/result"; }

  bool records() const { return plan_.flags.check || !plan_.flags.history.empty(); }

  // Of a job on this machine the parts are put together at the end; those of several ranks are left beside each other.
  std::string part(const std::string& name) {
    if (!post_->alone()) return plan_.flags.history + "." + name;
    const auto file = scratch_->path() + "/history-" + name;
    parts_.push_back(file);
    return file;
  }

  launch::ChildSpec coordinator(const std::string& listened) {
    launch::ChildSpec spec;
    spec.name = "coordinator";
    const auto listen = listened.empty() ? post_->listen("c", "") : Result<std::string>(listened);
    if (!listen) say(listen.error().message);
    spec.argv = {self_,       "coordinator",
                 "--servers", std::to_string(post_->roles().servers),
                 "--backups", std::to_string(*plan_.backups),
                 "--store",   plan_.store.empty() ? scratch_->path() + "/views" : plan_.store,
                 "--listen",  listen ? *listen : ""};
    if (plan_.flags.quiet) spec.argv.push_back("--quiet");
    spec.environment = post_->environment();
    spec.standard_output = launch::StandardOutput::capture;
    spec.ready_pipe = true;
    return spec;
  }

  launch::ChildSpec server(std::uint32_t i, const std::string& join) {
    launch::ChildSpec spec;
    spec.name = fmt::format("server {}", i);
    // A later life listens elsewhere, and has a history of its own.
    const auto life = server_lives_[i]++;
    const auto name = fmt::format("s{}{}", i, life == 0 ? "" : fmt::format("-{}", life));
    const auto listen = post_->listen(name, join);
    if (!listen) say(listen.error().message);
    spec.argv = {self_, "server", "--listen", listen ? *listen : ""};
    if (plan_.backups)
      spec.argv.insert(spec.argv.end(), {"--coordinator", join});
    else
      spec.argv.insert(spec.argv.end(), {"--shard", fmt::format("{}/{}", i, post_->roles().servers)});
    spec.environment = post_->environment();
    spec.environment.push_back(std::string(kCommandVariable) + "=" + launch::join_words(plan_.typed));
    const auto kept = checkpoint_words(plan_.flags.options.checkpoints);
    spec.argv.insert(spec.argv.end(), kept.begin(), kept.end());
    if (!join.empty() && !plan_.backups) spec.argv.insert(spec.argv.end(), {"--join", join});
    if (records()) spec.argv.insert(spec.argv.end(), {"--history", part(name)});
    if (plan_.flags.quiet) spec.argv.push_back("--quiet");
    spec.standard_output = launch::StandardOutput::capture;
    spec.ready_pipe = true;
    return spec;
  }

  // What the launcher settled is said to every replica in so many words.
  std::vector<std::string> job_words() const {
    auto words = without_flags(plan_.words, {"--replicas", "--shards"}, {});
    const auto& roles = post_->roles();
    words.insert(words.end(), {"--replicas", std::to_string(roles.replicas)});
    if (roles.servers > 0) words.insert(words.end(), {"--shards", std::to_string(roles.servers)});
    return words;
  }

  // Said once in the job, by whoever starts replica 0.
  void say_where(const std::string& join) {
    if (plan_.flags.quiet || std::exchange(said_where_, true)) return;
    const auto& roles = post_->roles();
    const auto& container = plan_.flags.options.processes.container;
    const auto count = [](std::uint32_t number, const char* what) {
      return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
    };
    std::string keys;
    for (const auto& entry : post_->environment()) keys += entry + " ";
    fmt::print(
        "{}, {}{}; `{}yoke status {}{}` tells how it goes\n",
        container.empty() ? count(roles.servers, "server") : "container " + container, count(roles.replicas, "replica"),
        post_->alone() ? "" : fmt::format(" on {}, {}", count(plan_.place.ranks, "rank"), count(roles.nodes, "node")),
        keys, join, container.empty() ? "" : " --container " + container);
  }

  launch::ChildSpec replica(std::uint32_t i, const std::string& join) {
    launch::ChildSpec spec;
    spec.name = fmt::format("replica {}", i);
    const auto& container = plan_.flags.options.processes.container;
    // A later life has a history of its own.
    const auto life = lives_[i]++;
    const auto history = fmt::format("r{}{}", i, life == 0 ? "" : fmt::format("-{}", life));
    if (i == 0) say_where(join);
    std::fflush(stdout);
    const auto& here = post_->part().replicas;
    if (!cores_.empty()) spec.core = cores_[static_cast<std::size_t>(std::ranges::find(here, i) - here.begin())];
    spec.environment = post_->environment();
    spec.environment.insert(spec.environment.end(),
                            {std::string(kCommandVariable) + "=" + launch::join_words(plan_.typed),
                             std::string(kResultVariable) + "=" + result_file()});
    auto seat = launch::seat_of({join, post_->part().replicas, listens_}, i, life > 0);
    if (!plan_.program.empty()) seat.flags = job_words();
    const auto seated = launch::to_environment(seat);
    spec.environment.insert(spec.environment.end(), seated.begin(), seated.end());
    if (plan_.backups) spec.environment.push_back(std::string(kCoordinatorVariable) + "=" + join);
    if (!container.empty()) spec.environment.push_back(std::string(kContainerVariable) + "=" + container);
    if (plan_.program.empty()) {
      spec.argv = {self_, "replica"};
      const auto words = job_words();
      spec.argv.insert(spec.argv.end(), words.begin(), words.end());
      if (records()) spec.argv.insert(spec.argv.end(), {"--history", part(history)});
      // The chief's progress and result are the job's own; the others say nothing there.
      spec.standard_output = launch::StandardOutput::inherit;
    } else {
      spec.argv = plan_.program;
      if (records()) spec.environment.push_back(std::string(kHistoryVariable) + "=" + part(history));
      spec.standard_output = launch::StandardOutput::capture;
    }
    return spec;
  }

  // What a person can do about it, where the job did not run to its end.
  void say_early_end(const launch::JobEnd& end, int status) const {
    const auto& options = plan_.flags.options;
    const bool keeps = !options.checkpoints.folder.empty();
    const bool drawn = plan_.program.empty() && std::filesystem::exists(result_file());
    if (status != kFailed && status != kInterrupted && status != kTerminated) return;
    if (!post_->alone() && !post_->has_first() && end.losses.empty()) return;  // others say it
    if (drawn && !keeps) return;                                               // the chief has said it
    EarlyEnd early{end.losses, "", options.checkpoints, options.processes.container, plan_.typed};
    if (early.failed.empty())
      early.failed.push_back(end.signal ? fmt::format("nothing: {} stopped it", launch::signal_name(end.signal))
                                        : "nobody was lost here: the words above say why");
    if (drawn && !plan_.flags.synthetic()) early.result = plan_.flags.save.empty() ? kStoppedFile : plan_.flags.save;
    std::fflush(stdout);
    std::fputs(in_words(early).c_str(), stderr);
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
    }
    for (const auto& ending : end.replicas) {
      if (!ending || launch::failed(*ending)) continue;
      concluded = true;
      status = std::max(status, ending->status);
    }
    if (!post_->alone()) return concluded ? status : status_without_replicas(end);
    if (plan_.program.empty() || !end.served || !concluded) return failed(end);
    return status;
  }

  // Of one rank among many, whose replicas were lost, or which has servers only. What starts the ranks ends all of them
  // when one fails: so one that the job can do without has not failed. Whether the job could, its first server knows;
  // under mirrored a replica that ends with an error says that it could not, one that was killed says nothing.
  int status_without_replicas(const launch::JobEnd& end) const {
    if (!end.served) return failed(end);
    if (end.replicas.empty()) return kDone;
    const bool lost = std::none_of(end.replicas.begin(), end.replicas.end(),
                                   [](const auto& ending) { return !ending || launch::never_began(*ending); });
    const bool by_hand = plan_.place.kind == launch::Place::Kind::by_hand;
    const bool killed = std::all_of(end.replicas.begin(), end.replicas.end(),
                                    [](const auto& ending) { return ending && ending->signal != 0; });
    const bool spared = plan_.roles.mirrored ? killed && !by_hand : post_->has_first() || !by_hand;
    return end.signal == 0 && lost && spared ? static_cast<int>(kDone) : failed(end);
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
  std::unique_ptr<launch::Post> post_;
  int stopped_by_ = 0;  // while it met the others
  std::string self_;
  std::vector<std::string> listens_;  // where the replicas here do, under mirrored
  std::vector<unsigned> cores_;       // of the replicas here, in their order; none: wherever there is room
  std::vector<std::string> parts_;
  std::map<std::uint32_t, std::uint32_t> lives_;  // of each replica, so far
  std::map<std::uint32_t, std::uint32_t> server_lives_;
  bool said_where_ = false;
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

void add_restarts_flag(CLI::App& command, TrainFlags& flags) {
  command
      .add_option("--restarts", flags.restarts,
                  "start a replica that was lost again, each at most so often, after a pause that grows from 0.5 to 30 "
                  "seconds")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(0u, 1'000'000u))
      ->group("Processes");
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
