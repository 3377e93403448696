#include "core/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace yoke::core {

double rate_at(const ScheduleOptions& options, const Progress& progress) {
  const double epochs = progress.epoch_samples > 0 ? progress.samples / progress.epoch_samples : 0;
  const double done = progress.total_samples > 0 ? std::min(1.0, progress.samples / progress.total_samples) : 0;
  double rate = 1;
  switch (options.kind) {
    case ScheduleOptions::Kind::constant:
      break;
    case ScheduleOptions::Kind::step:
      // A whisker is added because a sum of batches may fall a rounding short of the epoch's end.
      rate = std::pow(options.step_gamma, std::floor(epochs / options.step_epochs + 1e-9));
      break;
    case ScheduleOptions::Kind::cosine:
      rate = options.floor + (1 - options.floor) * 0.5 * (1 + std::cos(std::numbers::pi * done));
      break;
  }
  if (options.reference_batch > 0) rate *= progress.update_samples / options.reference_batch;
  if (options.warmup_epochs > 0 && progress.epoch_samples > 0) {
    // The first update already moves: it is judged by where it will end, not by where it starts.
    const double reached = (progress.samples + progress.update_samples) / progress.epoch_samples;
    rate *= std::min(1.0, reached / options.warmup_epochs);
  }
  return rate;
}

}  // namespace yoke::core
