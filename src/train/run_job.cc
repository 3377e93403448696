#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "cluster/checkpointer.h"
#include "cluster/local_cluster.h"
#include "cluster/member.h"
#include "cluster/terms.h"
#include "strategy/strategy.h"
#include "train/job.h"
#include "train/run_one.h"
#include "yoke/run.h"

namespace yoke {
namespace {

using train::Body;
using train::Job;
using train::OpenCluster;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// --- every replica a thread of this process ---

// While no more replicas run than there are cores, a waiting thread may look for a moment before it sleeps: waking a
// halted virtual core costs tens of microseconds.
Duration spin_for(const Options& options) {
  return options.replicas <= std::thread::hardware_concurrency() ? std::chrono::microseconds(100) : Duration::zero();
}

OpenCluster open_here(const Options& options, const wire::JobTerms& terms, cluster::Checkpointer* checkpointer) {
  return [&, checkpointer](std::uint32_t network, const Layout& layout) -> Result<std::unique_ptr<cluster::Cluster>> {
    auto mine = cluster::terms_of_network(terms, network);
    cluster::LocalOptions local{.deadline = options.deadline, .spin = spin_for(options)};
    if (mine.record) local.recorder = options.recorder;
    local.say = options.say;
    local.network = network;
    local.about = options.processes.about;
    local.checkpointer = checkpointer;
    return std::unique_ptr<cluster::Cluster>(
        std::make_unique<cluster::LocalCluster>(layout, std::move(mine), std::move(local)));
  };
}

Result<Summary> run_threads(const Options& options, const wire::JobTerms& terms, const Body& body) {
  auto checkpointer = cluster::Checkpointer::open(options.checkpoints, true, options.say);
  if (!checkpointer) return checkpointer.error();
  Job job(options, open_here(options, terms, checkpointer->get()));
  // Its callbacks are over before the clusters go.
  const std::shared_ptr<void> first_to_go(nullptr, [&](void*) { checkpointer->reset(); });
  std::vector<std::optional<Error>> lost(options.replicas);
  const auto start = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t id = 0; id < options.replicas; ++id) try {
        threads.emplace_back([&, id] {
          // LibTorch's generator of random numbers is one for the whole process: the chief draws its first weights
          // alone.
          if (options.deterministic && id > 0) job.await_opener(1);
          lost[id] = train::run_replica(job, id, body);
        });
      } catch (const std::system_error& problem) {
        lost[id] = Error{Code::unsupported, fmt::format("no thread could be had for it: {}", problem.what())};
        job.leave(id, lost[id]->message);
      }
  }
  job.wind_up();
  Summary summary;
  bool done = false;
  if (auto* lead = job.lead()) {
    const auto account = lead->account();
    if (!account) return account.error();
    summary = train::summary_of(*account);
    done = account->done && account->stopped != cluster::kEndsEarly;
  }
  summary.seconds = seconds_since(start);
  summary.replicas.resize(options.replicas);
  std::string all_lost;
  for (std::uint32_t id = 0; id < options.replicas; ++id) {
    summary.replicas[id].mean_step_seconds = job.mean_work(id);
    auto& why = summary.replicas[id].lost;
    why = lost[id] ? lost[id]->message : "";  // a body that returned early is not lost
    if (!why.empty()) all_lost += fmt::format("{}replica {}: {}", all_lost.empty() ? "" : "\n  ", id, why);
  }
  if (done || all_lost.empty()) return summary;  // or the body had enough before the epochs were over
  // It hangs, and ended for all with the same words.
  if (std::ranges::all_of(lost, [&](const auto& problem) {
        return problem && problem->code == Code::timed_out && problem->message == lost.front()->message;
      }))
    return Error{Code::timed_out, fmt::format("training ended at step {}: {}", summary.steps, lost.front()->message)};
  return Error{Code::peer_down,
               fmt::format("training ended at step {} because no replica was left\n  {}", summary.steps, all_lost)};
}

// --- this process one replica of many ---

Result<Summary> run_member(const Options& options, const wire::JobTerms& terms, const Body& body) {
  const auto& processes = options.processes;
  auto credentials = security::find_credentials(processes.security);
  if (!credentials) return credentials.error();
  auto joined = cluster::Member::join({.join = processes.join,
                                       .coordinator = processes.coordinator,
                                       .container = processes.container,
                                       .about = processes.about,
                                       .replica = processes.replica,
                                       .listen = processes.listen,
                                       .hosts_shard = processes.hosts_shard,
                                       .hosts_of = processes.hosts_of,
                                       .members = processes.members,
                                       .terms = terms,
                                       .deadline = options.deadline,
                                       .checkpoints = options.checkpoints,
                                       .say = options.say,
                                       .recorder = options.recorder,
                                       .credentials = std::move(*credentials)});
  if (!joined) return joined.error();
  auto& member = **joined;
  const auto id = member.replica();
  if (id >= options.replicas)
    return Error{Code::refused,
                 fmt::format("the first server at {} made this process replica {}, but there are only {}",
                             processes.join, id, options.replicas)};
  Job job(
      options, [&](std::uint32_t network, const Layout& layout) { return member.open(network, layout); }, id);
  auto summary = train::run_one(job, id, body);
  member.leave(summary ? "its body has returned" : summary.error().message, summary.ok());
  return summary;
}

}  // namespace

Result<Summary> run_job(const Options& options, const Body& body) {
  const auto terms = strategy::plan(options);
  if (!terms) return terms.error();
  return options.processes.join.empty() ? run_threads(options, *terms, body) : run_member(options, *terms, body);
}

}  // namespace yoke
