#include "launch/restart.h"

#include <fmt/format.h>

#include <algorithm>

namespace yoke::launch {

std::optional<Restarts::Again> Restarts::lost(std::chrono::milliseconds ran) {
  if (used_ >= rule_.times) return std::nullopt;
  if (next_.count() == 0 || ran >= rule_.steady) next_ = rule_.pause;
  const Again again{++used_, std::min(next_, rule_.longest)};
  next_ = again.pause * 2;
  return again;
}

std::string in_words(const Restarts::Again& again, const RestartRule& rule) {
  return fmt::format("restart {} of {} in {:.1f} s", again.number, rule.times,
                     std::chrono::duration<double>(again.pause).count());
}

}  // namespace yoke::launch
