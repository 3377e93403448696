// The learning rate over the run, as a factor on each group's own rate: a pure function of the samples committed.
// Gradients that were dropped do not advance it.
#pragma once

#include "yoke/options.h"

namespace yoke::core {

struct Progress {
  double samples = 0;         // committed so far
  double epoch_samples = 0;   // in an epoch; 0: unknown
  double total_samples = 0;   // in the whole run; 0: unknown
  double update_samples = 1;  // that go into one update when nothing is missing
};

double rate_at(const ScheduleOptions& options, const Progress& progress);

}  // namespace yoke::core
