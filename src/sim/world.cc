#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>

#include "history/checker.h"

namespace yoke::sim {

using std::chrono::microseconds;

World::World(std::uint64_t seed, const SimOptions& options)
    : options_(options),
      shape_(shape_of(seed)),
      random_(mix(seed, 2)),
      fate_(mix(seed, 4)),
      disk_(mix(seed, 5)),
      faulty_(disk_, [this](std::uint64_t number, std::string_view operation,
                            const std::string& path) { return fault(number, operation, path); }),
      losses_left_(options.lose_jobs ? shape_.recovery.losses : 0),
      values_(shape_.plan.blocks.size()),
      sequencer_(shape_.options),
      departures_left_(options.lose_jobs ? shape_.recovery.departures : 0),
      servers_left_(options.lose_jobs ? shape_.servers.losses : 0),
      coordinators_left_(options.lose_jobs ? shape_.servers.coordinators : 0) {
  outcome_.seed = seed;
  outcome_.shape = shape_.describe();
  recorder_.add(now_, terms());
  make_machines({});
}

Outcome World::run() {
  trace([&] { return outcome_.shape; });
  begin_job();
  try {
    while (!queue_.empty() && outcome_.counts.events < options_.event_limit) {
      auto [at, action] = queue_.take();
      now_ = at;
      ++outcome_.counts.events;
      try {
        action();
      } catch (const JobLost&) {
        lose_job();
      } catch (const ProcessLost& lost) {
        lose_process(lost);
      }
    }
    check_progress();
    check_end();
  } catch (const std::exception& error) {
    outcome_.violations.push_back(fmt::format("an exception escaped: {}", error.what()));
  }
  return std::move(outcome_);
}

void World::stop() {
  const std::string reason = "somebody had enough";
  trace([&] { return "the sequencer is told to stop"; });
  if (!sequencer_.done()) recorder_.add(now_, history::Stopped{reason});
  deliver(wire::kSequencer, core::Stop{reason});
}

Duration World::while_working(double slowness) {
  auto time = random_.between(microseconds(20), microseconds(2000));
  if (!peace() && random_.chance(shape_.faults.straggle)) time *= random_.between(10, 300);
  return Duration(static_cast<std::int64_t>(static_cast<double>(time.count()) * slowness));
}

bool World::through() const {
  return sequencer_.done() && std::all_of(processes_.begin(), processes_.end(), [](const auto& process) {
           return process.gone || (process.side && process.side->done());
         });
}

void World::check_progress() {
  if (!queue_.empty()) {
    outcome_.violations.push_back(
        fmt::format("no progress: not through after {} events: {}", outcome_.counts.events, stuck()));
    return;
  }
  if (!through()) outcome_.violations.push_back("no progress: nothing is under way any more: " + stuck());
}

std::string World::stuck() const {
  std::string text =
      sequencer_.done() ? "the sequencer is through" : "the sequencer waits for " + sequencer_.waiting_for();
  for (const auto& process : processes_) {
    if (process.gone || (process.side && process.side->done())) continue;
    text += fmt::format("; replica {} (life {}) ", process.life.replica, process.life.incarnation);
    if (!process.side)
      text += "is dead";
    else if (!process.side->turned_away().empty())
      text += "was turned away";
    else if (const auto& work = process.side->work(); !work)
      text += "has no work";
    else if (process.side->verdict(work->gradient.sequence))
      text += fmt::format("waits for work after gradient {}", work->gradient.sequence);
    else if (process.computing != work->gradient)
      text += fmt::format("waits for parameters for step {}", work->step);
    else
      text += fmt::format("waits for the verdict on gradient {} for step {}", work->gradient.sequence, work->step);
  }
  return text;
}

void World::check_end() {
  const auto events = recorder_.events();
  for (const auto& event : events) {
    const auto* decided = std::get_if<history::Decided>(&event.what);
    if (!decided) continue;
    outcome_.counts.updates += !decided->record.applied.empty();
    outcome_.counts.turned_away += decided->record.turned_away.size();
  }
  const auto broken = history::check(events);
  outcome_.violations.insert(outcome_.violations.end(), broken.begin(), broken.end());
  const bool calm = shape_.faults.cease.count() == 0;
  const bool spares = shape_of(outcome_.seed).options.spares > 0;  // the numbers may have changed since
  if (calm && shape_.stop_at.count() == 0 && !shape_.options.async && !spares && outcome_.counts.turned_away > 0)
    outcome_.violations.push_back(
        fmt::format("in a calm world without spares {} gradients were turned away", outcome_.counts.turned_away));
  if (outcome_.violations.empty()) {  // in a run that came to its end, whatever is left over is a leak
    payloads_.close();
    for (const auto& shard : shards_)
      if (shard.committed() != sequencer_.committed())
        outcome_.violations.push_back(
            fmt::format("a shard ended at version {}, the rest at {}", shard.committed(), sequencer_.committed()));
    if (sequencer_.checkpointing()) outcome_.violations.push_back("a checkpoint never came to its end");
  }
  outcome_.values = values_.all();
  const auto& leaks = payloads_.violations();
  outcome_.violations.insert(outcome_.violations.end(), leaks.begin(), leaks.end());
}

void World::trace(const Tell& line) {
  if (!options_.trace) return;
  outcome_.trace.push_back(fmt::format("{:10.3f} ms  {}", static_cast<double>(now_.count()) / 1e6, line()));
}

}  // namespace yoke::sim
