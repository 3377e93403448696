#include "train/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace yoke::train {

Session::Session(Job& job, cluster::Cluster& cluster, std::uint32_t replica, Turn* turn)
    : job_(job), cluster_(cluster), replica_(replica), turn_(turn), exchange_(cluster, job.options(), replica) {}

Status Session::attach(cluster::Places places) { return cluster_.attach(replica_, std::move(places)); }

Status Session::start(std::uint64_t samples, std::uint32_t batch) {
  if (started_)
    return Error{Code::invalid_argument, fmt::format("replica {}: the samples of a job are walked through once; put "
                                                     "the epochs into the options",
                                                     replica_)};
  if (batch == 0) return Error{Code::invalid_argument, "a batch must have at least 1 sample"};
  started_ = true;
  exchange_.join(samples, batch);
  return begin();
}

Status Session::begin() {
  if (turn_) turn_->release();
  for (;;) {
    auto assignment = exchange_.begin();
    if (!assignment) return assignment.error();
    assignment_ = std::move(*assignment);
    assignment_.sequence = ++begun_so_far_;  // a replica that joins again begins a new life, and its loop does not
    if (!assignment_.idle) {
      const auto here = leaves_late_ ? Status{} : await_values();
      if (here) break;
      if (here.error().code != Code::cancelled) return here;  // else it joins again
    }
    if (const auto outcome = finish(); !outcome) return outcome.error();
  }
  if (turn_) turn_->acquire();
  begun_ = std::chrono::steady_clock::now();
  awaited_before_ = awaited();
  begun_on_clock_ = cluster_.now();
  if (on_begin_) on_begin_(assignment_);
  return {};
}

Status Session::await_values() {
  for (const auto slot : assignment_.late)
    if (auto here = exchange_.await(slot); !here) return here;
  assignment_.late.clear();
  return {};
}

Result<Outcome> Session::finish() {
  auto outcome = exchange_.finish();
  if (outcome && !outcome->dropped() && on_applied_) on_applied_();
  return outcome;
}

Result<Outcome> Session::step(bool whole) {
  if (assignment_.done) return Error{Code::invalid_argument, "training is over: there is no step to make"};
  job_.add_work(replica_, at_work(), whole || !exchange_.abandoned());
  note(history::Span::What::compute, begun_on_clock_);
  if (turn_) turn_->release();
  auto outcome = finish();
  if (!outcome) return outcome;
  if (const auto begun = begin(); !begun) return begun.error();
  return outcome;
}

void Session::note(history::Span::What what, Time begin) {
  if (const auto& timeline = job_.options().timeline)
    timeline->add({replica_, what, begin, cluster_.now(), assignment_.step});
}

void Session::pause(Duration duration, bool whole) {
  if (turn_) turn_->release();
  const auto end = std::chrono::steady_clock::now() + duration;
  while ((whole || !exchange_.abandoned()) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(
        std::min<Duration>(std::chrono::milliseconds(1), end - std::chrono::steady_clock::now()));
  if (turn_) turn_->acquire();
}

}  // namespace yoke::train
