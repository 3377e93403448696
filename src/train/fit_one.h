// One replica's part in a fit, and what the replicas of a process share.
//
// In one process they share a meter, a judge and the result, and whoever finds an evaluation due makes it. Where each
// replica is a process of its own, each has its own of these, and only the chief's are used: the others tell it after
// every step what they did. When the chief is lost another replica is the chief from then on; it starts with nothing.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "train/evaluations.h"
#include "train/judge.h"
#include "train/progress.h"
#include "yoke/fit.h"

namespace yoke::train {

// What the replicas of one fit share in a process.
struct FitShared {
  const Options& options;
  const FitOptions& fit;
  const MakeTrainable& make;
  ProgressMeter meter;

  // One replica at a time evaluates; the others go on.
  std::mutex judging{};
  std::optional<Error> could_not_make{};  // why a model could not be made: the caller's mistake, not a replica's loss
  std::optional<Judge> judge{};
  std::optional<Ended> ended{};
  std::uint64_t looked_at = 0;         // the newest version that was evaluated
  bool caught_up = false;              // with what was looked at before this process was the chief
  std::vector<Look> looks{};           // all so far, where they are kept on the disk
  bool closed = false;                 // the result stands
  bool drained = false;                // this process's replica was asked to go
  Fitted result{};                     // validation, version and state of the best so far; at the end, everything
  std::atomic<bool> claimed{false};    // somebody has set out to conclude
  std::atomic<bool> concluded{false};  // and did
};

// The body of a replica that takes part in a fit.
void fit_one(Replica& replica, FitShared& shared);

// What came out of it, once the job has ended with this summary.
Result<Fitted> conclusion(FitShared& shared, Result<Summary> summary);

}  // namespace yoke::train
