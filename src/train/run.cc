#include "yoke/run.h"

#include <fmt/format.h>

#include <cstdio>

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
