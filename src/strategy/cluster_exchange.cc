#include "strategy/cluster_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernel/pass.h"

namespace yoke::strategy {

ClusterExchange::ClusterExchange(cluster::Cluster& cluster, const Options& options, std::uint32_t replica)
    : cluster_(cluster), options_(options), replica_(replica), here_(cluster.layout().slots.size()) {}

void ClusterExchange::join(std::uint64_t samples, std::uint32_t batch) {
  samples_ = samples;
  cluster_.join(replica_, samples, batch);
}

void ClusterExchange::note(history::Span::What what, Time begin, Time end) {
  if (options_.timeline) options_.timeline->add({replica_, what, begin, end, step_});
}

void ClusterExchange::push(SlotId slot, Payload gradient) {
  const auto begin = cluster_.now();
  cluster_.push(replica_, slot, std::move(gradient));
  note(history::Span::What::push, begin, cluster_.now());
}

Result<Assignment> ClusterExchange::begin() {
  const auto begun = cluster_.now();
  auto work = cluster_.next(replica_);
  if (!work) return work.error();
  note(history::Span::What::wait, begun, work->pulling);
  step_ = work->assign.step;
  note(history::Span::What::pull, work->pulling, cluster_.now());
  Assignment assignment;
  assignment.done = work->done;
  if (work->done) return assignment;
  const auto& assign = work->assign;
  assignment.sequence = assign.gradient.sequence;
  assignment.step = assign.step;
  assignment.counted = assign.counted;
  assignment.late = std::move(work->late);
  if (assign.range) {
    assignment.epoch = assign.range->epoch;
    assignment.idle = assign.range->size() == 0;
    const core::Permutation order(options_.seed, assign.range->epoch, samples_);
    const auto samples_at = [&](std::uint64_t begin, std::uint64_t end) {
      std::vector<std::uint64_t> samples;
      for (auto place = begin; place < end; ++place) samples.push_back(options_.shuffle ? order(place) : place);
      return samples;
    };
    assignment.samples = samples_at(assign.range->begin, assign.range->end);
    // The cursor moves on by as many ranges as there are replicas: between them they look exactly one round ahead.
    const auto size = assign.range->size(), ahead = assign.range->begin + size * options_.replicas;
    assignment.ahead = samples_at(std::min(ahead, samples_), std::min(ahead + size, samples_));
  }
  const std::lock_guard lock(mutex_);
  here_.assign(here_.size(), false);
  missing_ = 0;
  for (const auto& blocks : cluster_.plan().of_slot) missing_ += !blocks.empty();
  held_back_.clear();
  return assignment;
}

Status ClusterExchange::await(SlotId slot) {
  const auto begun = cluster_.now();
  auto here = cluster_.await(replica_, slot);
  const auto ended = cluster_.now();
  awaited_ += ended - begun;
  note(history::Span::What::pull, begun, ended);
  return here;
}

Status ClusterExchange::ready(SlotId slot, Payload gradient) {
  {
    const std::lock_guard lock(mutex_);
    if (here_[slot])
      return Error{Code::invalid_argument,
                   fmt::format("the gradient of {} came twice in one step; if one step takes several backward passes, "
                               "say so with backwards_per_step",
                               cluster_.layout().slots[slot].name)};
    here_[slot] = true;
    missing_ -= !cluster_.plan().of_slot[slot].empty();
    const bool clip_alone = options_.strategy == Strategy::async && options_.clip_norm > 0;
    if (missing_ == 0 || clip_alone) {
      held_back_.emplace_back(slot, std::move(gradient));
      return {};
    }
  }
  push(slot, std::move(gradient));
  return {};
}

bool ClusterExchange::abandoned() const { return cluster_.abandoned(replica_); }

// Asynchronous gradients are clipped one by one, by their own norm.
void ClusterExchange::clip_held_back() {
  double squares = 0;
  for (const auto& [slot, gradient] : held_back_)
    if (!cluster_.layout().slots[slot].buffer) squares += kernel::check(gradient.values).sum_squares;
  const double factor = options_.clip_norm / (std::sqrt(squares) + 1e-6);
  for (auto& [slot, gradient] : held_back_) {
    if (!(factor < 1) || cluster_.layout().slots[slot].buffer)
      continue;  // a norm that is not finite is left to be refused
    auto scaled = std::make_shared<std::vector<float>>(gradient.values.begin(), gradient.values.end());
    for (auto& value : *scaled) value = static_cast<float>(value * factor);
    gradient = {*scaled, scaled};
  }
}

Result<Outcome> ClusterExchange::finish() {
  std::vector<std::pair<SlotId, Payload>> rest;
  {
    const std::lock_guard lock(mutex_);
    if (options_.strategy == Strategy::async && options_.clip_norm > 0) clip_held_back();
    rest = std::move(held_back_);
    held_back_.clear();
    for (SlotId slot = 0; slot < here_.size(); ++slot)
      if (!here_[slot]) rest.emplace_back(slot, Payload{});
  }
  for (auto& [slot, gradient] : rest) push(slot, std::move(gradient));
  const auto pushed = cluster_.now();
  auto verdict = cluster_.settle(replica_);
  note(history::Span::What::wait, pushed, cluster_.now());
  if (!verdict) return verdict.error();
  Outcome outcome;
  outcome.fate = static_cast<Outcome::Fate>(verdict->fate);
  outcome.version = verdict->version;
  outcome.staleness = verdict->staleness;
  outcome.why = verdict->reason;
  return outcome;
}

}  // namespace yoke::strategy
