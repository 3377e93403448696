#include "cli/status_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/display.h"
#include "strategy/strategy.h"

namespace yoke::cli {
namespace {

constexpr double kSlow = 1.5;  // times the median step

double median_step(const wire::Account& account) {
  std::vector<double> steps;
  for (const auto& replica : account.replicas)
    if (replica.mean_step_seconds > 0) steps.push_back(replica.mean_step_seconds);
  if (steps.empty()) return 0;
  std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2), steps.end());
  return steps[steps.size() / 2];
}

std::string state_of(const wire::ReplicaAccount& replica, double median) {
  if (!replica.gone.empty()) return "gone: " + replica.gone;
  if (!replica.present) return "not there yet";
  if (median > 0 && replica.mean_step_seconds > kSlow * median)
    return fmt::format("slow: {:.1f} times the median", replica.mean_step_seconds / median);
  return "there";
}

std::string life_of(const wire::ReplicaAccount& replica) {
  return replica.lives > 1 ? fmt::format(", in life {}", replica.lives) : "";
}

// What was kept on the disk, and what was done without.
std::string losses_in_words(const wire::Account& account) {
  std::string text;
  if (account.degraded > 0)
    text += fmt::format("degraded: {} update{} made of fewer gradients than configured, as replicas were gone\n",
                        account.degraded, account.degraded == 1 ? " was" : "s were");
  if (!account.checkpoint.empty())
    text += fmt::format("newest checkpoint: {}, version {}\n", account.checkpoint, account.checkpointed);
  if (!account.checkpoint_problem.empty())
    text += fmt::format("the last checkpoint failed: {}\n", account.checkpoint_problem);
  return text;
}

}  // namespace

std::string as_text(const wire::Account& account) {
  std::string text;
  if (!account.strategy) {
    text += "no job has begun yet\n";
  } else {
    text += fmt::format("{}, {}: step {}{}, epoch {} of {}, {:.1f} steps/s, {} samples in {}\n",
                        strategy::name_of(*account.strategy),
                        account.done               ? "over"
                        : !account.stopped.empty() ? "stopping"
                                                   : "training",
                        account.step, account.steps ? fmt::format(" of {}", account.steps) : "",
                        std::min(account.epochs + 1, std::max(1u, account.epochs_asked)), account.epochs_asked,
                        account.steps_per_second, account.samples, in_time(account.seconds));
    if (!account.stopped.empty()) text += fmt::format("stopped: {}\n", account.stopped);
    if (!account.waiting_for.empty()) text += fmt::format("waiting for {}\n", account.waiting_for);
    text += losses_in_words(account);
  }
  text += "\nserver  where\n";
  for (const auto& server : account.servers)
    text += server.present ? fmt::format("{:>6}  {} ({})\n", server.shard, server.address, server.where)
                           : fmt::format("{:>6}  not there yet\n", server.shard);
  const double median = median_step(account);
  text += "\nreplica  applied  dropped  refused  staleness  step, ms  heard, s  state\n";
  for (const auto& replica : account.replicas)
    text += fmt::format(
        "{:>7}  {:>7}  {:>7}  {:>7}  {:>9.2f}  {:>8.1f}  {:>8}  {}{}{}\n", replica.id, replica.applied, replica.dropped,
        replica.refused,
        replica.applied ? static_cast<double>(replica.staleness) / static_cast<double>(replica.applied) : 0.0,
        1e3 * replica.mean_step_seconds, replica.present ? fmt::format("{:.1f}", replica.last_heard_seconds) : "-",
        state_of(replica, median), life_of(replica), replica.where.empty() ? "" : " (" + replica.where + ")");
  return text;
}

std::string as_json(const wire::Account& account) {
  using nlohmann::ordered_json;
  ordered_json json{{"strategy", account.strategy ? strategy::name_of(*account.strategy) : ""},
                    {"step", account.step},
                    {"steps", account.steps},
                    {"epochs", account.epochs},
                    {"epochs_asked", account.epochs_asked},
                    {"samples", account.samples},
                    {"assigned", account.assigned},
                    {"steps_per_second", account.steps_per_second},
                    {"seconds", account.seconds},
                    {"done", account.done},
                    {"stopped", account.stopped},
                    {"waiting_for", account.waiting_for},
                    {"staleness", account.staleness},
                    {"degraded", account.degraded},
                    {"checkpoint", account.checkpoint},
                    {"checkpointed", account.checkpointed},
                    {"checkpoint_problem", account.checkpoint_problem}};
  const double median = median_step(account);
  for (const auto& server : account.servers)
    json["servers"].push_back(
        {{"shard", server.shard}, {"present", server.present}, {"address", server.address}, {"where", server.where}});
  for (const auto& replica : account.replicas)
    json["replicas"].push_back({{"id", replica.id},
                                {"present", replica.present},
                                {"where", replica.where},
                                {"applied", replica.applied},
                                {"dropped", replica.dropped},
                                {"refused", replica.refused},
                                {"mean_step_ms", 1e3 * replica.mean_step_seconds},
                                {"last_heard_seconds", replica.last_heard_seconds},
                                {"slow", median > 0 && replica.mean_step_seconds > kSlow * median},
                                {"gone", replica.gone},
                                {"lives", replica.lives}});
  return json.dump(2) + "\n";
}

}  // namespace yoke::cli
