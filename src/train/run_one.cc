#include "train/run_one.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace yoke::train {

std::optional<Error> run_replica(Job& job, std::uint32_t id, const Body& body) {
  Replica replica(job, id);
  std::optional<Error> lost;
  try {
    body(replica);
  } catch (const Exception& problem) {
    lost = Error{problem.code(), problem.what()};
  } catch (const std::exception& problem) {
    lost = Error{Code::peer_down, problem.what()};
  } catch (...) {
    lost = Error{Code::peer_down, "it threw something that is no std::exception"};
  }
  replica.leave(lost ? lost->message : "its body returned before training was over");
  return lost;
}

Summary summary_of(const wire::Account& account) {
  Summary summary;
  summary.steps = account.step;
  summary.epochs = account.epochs;
  summary.samples = account.samples;
  summary.assigned = account.assigned;
  summary.staleness = account.staleness;
  summary.least_counted = account.least_counted;
  summary.most_counted = account.most_counted;
  summary.stopped = account.stopped;
  summary.degraded = account.degraded;
  summary.checkpoint = account.checkpoint;
  summary.checkpoint_problem = account.checkpoint_problem;
  for (const auto& from : account.replicas) {
    Summary::PerReplica to;
    to.applied = from.applied;
    to.dropped = from.dropped;
    to.refused = from.refused;
    to.mean_staleness = from.applied ? static_cast<double>(from.staleness) / static_cast<double>(from.applied) : 0;
    to.mean_step_seconds = from.mean_step_seconds;
    to.lost = from.gone;
    to.lives = std::max<std::uint64_t>(1, from.lives);
    summary.applied += from.applied;
    summary.dropped += from.dropped;
    summary.refused += from.refused;
    summary.replicas.push_back(std::move(to));
  }
  return summary;
}

Result<Summary> run_one(Job& job, std::uint32_t id, const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  const auto lost = run_replica(job, id, body);
  Summary summary;
  bool done = false;
  std::optional<Error> silent;  // why the first server did not tell
  if (auto* lead = job.lead()) {
    if (const auto account = lead->account()) {
      summary = summary_of(*account);
      summary.seconds = account->seconds;
      done = account->done;
    } else {
      summary.steps = lead->committed();
      done = lead->done();
      silent = account.error();
    }
  }
  if (lost && !done)
    return Error{lost->code, fmt::format("replica {} was lost at step {}: {}", id, summary.steps, lost->message)};
  if (silent && !done) return *silent;
  // The servers know when training began and ended; what this process did before and after is its own.
  if (summary.seconds == 0)
    summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  summary.replicas.resize(std::max<std::size_t>(summary.replicas.size(), job.options().replicas));
  auto& mine = summary.replicas[id];
  mine.mean_step_seconds = job.mean_work(id);
  mine.lost = lost ? lost->message : "";  // a body that returned early is not lost
  return summary;
}

}  // namespace yoke::train
