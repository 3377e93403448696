#include "yoke/run.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <system_error>
#include <thread>

#include "strategy/strategy.h"
#include "train/job.h"
#include "train/session.h"

namespace yoke {

Replica::Replica(train::Job& job, std::uint32_t id)
    : job_(job), id_(id), turn_(std::make_unique<train::Turn>(job.turns())) {}

Replica::~Replica() = default;

const Options& Replica::options() const { return job_.options(); }

train::Session& Replica::open(Layout layout, std::vector<std::span<float>> values, std::shared_ptr<void> keep,
                              bool takes_a_core) {
  kept_.push_back(std::move(keep));
  turn_->release();  // attaching waits for the chief, who may need it
  auto* cluster = job_.cluster(sessions_.size(), layout, id_).or_throw();
  sessions_.push_back(std::make_unique<train::Session>(job_, *cluster, id_, takes_a_core ? turn_.get() : nullptr));
  sessions_.back()->attach(std::move(values)).or_throw();
  return *sessions_.back();
}

Samples Replica::samples(std::uint64_t size, std::uint32_t batch) {
  if (sessions_.empty()) throw Exception({Code::invalid_argument, "call samples() after attach()"});
  if (size == 0 && options().steps == 0)
    throw Exception({Code::invalid_argument, "data without a size has no epochs: say with --steps when to stop"});
  // The first network paces the job and counts the samples; further ones only follow its steps.
  for (std::size_t i = sessions_.size(); i-- > 0;) sessions_[i]->start(i == 0 ? size : 0, batch).or_throw();
  return Samples(*sessions_.front());
}

void Replica::leave(const std::string& reason) {
  turn_->release();
  job_.leave(id_, reason);
}

Samples::Iterator::Iterator(train::Session* session) : session_(session) {
  if (session_) take();
}

void Samples::Iterator::take() {
  const auto& assignment = session_->assignment();
  if (assignment.done) {
    session_ = nullptr;
    return;
  }
  sequence_ = assignment.sequence;
  batch_ = assignment.samples;
}

Samples::Iterator& Samples::Iterator::operator++() {
  if (!session_->assignment().done && session_->assignment().sequence == sequence_)
    throw Exception(
        {Code::invalid_argument,
         fmt::format("replica {}: a batch went by without step(); each batch of samples() is one step of the "
                     "first attached network",
                     session_->replica())});
  take();
  return *this;
}

namespace {

// What a replica's thread came to.
struct Ending {
  std::string lost;  // why, when it did not return by itself
};

void replica_main(train::Job& job, std::uint32_t id, const std::function<void(Replica&)>& body, Ending& ending) {
  Replica replica(job, id);
  // LibTorch's generator of random numbers is one for the whole process: the chief draws its first weights alone.
  if (job.options().deterministic && id > 0) job.await_chief(1);
  try {
    body(replica);
  } catch (const std::exception& problem) {
    ending.lost = problem.what();
  } catch (...) {
    ending.lost = "it threw something that is no std::exception";
  }
  replica.leave(ending.lost.empty() ? "its body returned before training was over" : ending.lost);
}

Summary summarise(const train::Job& job, const std::vector<Ending>& endings) {
  Summary summary;
  summary.replicas.resize(endings.size());
  for (std::size_t i = 0; i < endings.size(); ++i) summary.replicas[i].lost = endings[i].lost;
  const auto* lead = job.lead();
  if (!lead) return summary;
  const auto tally = lead->tally();
  summary.steps = lead->committed();
  summary.epochs = lead->epochs();
  summary.samples = tally.samples();
  summary.assigned = tally.assigned();
  summary.staleness = tally.staleness();
  summary.least_counted = tally.least_counted();
  summary.most_counted = tally.most_counted();
  summary.stopped = lead->stopped();
  for (std::size_t i = 0; i < endings.size(); ++i) {
    const auto& from = tally.by_replica()[i];
    auto& to = summary.replicas[i];
    to.applied = from.applied;
    to.dropped = from.dropped;
    to.refused = from.refused;
    to.mean_staleness = from.applied ? static_cast<double>(from.staleness) / static_cast<double>(from.applied) : 0;
    to.mean_step_seconds = job.mean_work(static_cast<std::uint32_t>(i));
    summary.applied += from.applied;
    summary.dropped += from.dropped;
    summary.refused += from.refused;
  }
  return summary;
}

}  // namespace

Result<Summary> run_job(const Options& options, const std::function<void(Replica&)>& body) {
  auto local = strategy::plan(options);
  if (!local) return local.error();
  train::Job job(options, std::move(*local));
  std::vector<Ending> endings(options.replicas);
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t id = 0; id < options.replicas; ++id) try {
        threads.emplace_back([&, id] { replica_main(job, id, body, endings[id]); });
      } catch (const std::system_error& problem) {
        endings[id].lost = fmt::format("no thread could be had for it: {}", problem.what());
        job.leave(id, endings[id].lost);
      }
  }
  auto summary = summarise(job, endings);
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (job.lead() && job.lead()->done()) return summary;
  std::string lost;
  for (std::size_t i = 0; i < endings.size(); ++i)
    if (!endings[i].lost.empty())
      lost += fmt::format("{}replica {}: {}", lost.empty() ? "" : "\n  ", i, endings[i].lost);
  if (lost.empty()) return summary;  // the body had enough before the epochs were over: its own decision
  return Error{Code::peer_down,
               fmt::format("training ended at step {} because no replica was left\n  {}", summary.steps, lost)};
}

int run(const Result<Options>& options, const std::function<void(Replica&)>& body) {
  if (!options) {
    const bool asked = options.error().code == Code::cancelled;  // --help
    std::fprintf(asked ? stdout : stderr, "%s\n", options.error().message.c_str());
    return asked ? 0 : 2;
  }
  const auto summary = run_job(*options, body);
  if (!summary) {
    std::fprintf(stderr, "error: %s\n", summary.error().message.c_str());
    return summary.error().code == Code::invalid_argument ? 2 : 1;
  }
  for (std::size_t i = 0; i < summary->replicas.size(); ++i)
    if (!summary->replicas[i].lost.empty())
      std::fprintf(stderr, "replica %zu was lost, the job went on without it: %s\n", i,
                   summary->replicas[i].lost.c_str());
  return 0;
}

}  // namespace yoke
