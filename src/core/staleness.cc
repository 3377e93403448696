#include "core/staleness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/planted.h"

namespace yoke::core {

StaleDecision judge_staleness(const StaleOptions& options, std::uint64_t staleness) {
  if (options.max_staleness && staleness > *options.max_staleness && !planted(Bug::ignore_the_staleness_bound))
    return {false, 0, fmt::format("{} versions stale, more than the {} allowed", staleness, *options.max_staleness)};
  const double s = static_cast<double>(staleness);
  double factor = 1;
  switch (options.policy) {
    case Stale::apply:
      return {true, 1, fmt::format("{} versions stale, applied as it is", staleness)};
    case Stale::scale_inverse:
      factor = 1 / (1 + s);
      break;
    case Stale::scale_exponential:
      factor = std::exp(-options.strength * s);
      break;
    case Stale::scale_linear:
      factor = std::max(0.0, 1 - options.strength * s);
      break;
  }
  if (factor == 0) return {false, 0, fmt::format("{} versions stale, scaled down to nothing", staleness)};
  return {true, factor, fmt::format("{} versions stale, scaled by {:.3g}", staleness, factor)};
}

}  // namespace yoke::core
