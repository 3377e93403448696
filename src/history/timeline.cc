#include "history/timeline.h"

namespace yoke::history {

const char* name_of(Span::What what) {
  constexpr const char* kNames[] = {"compute", "push", "wait", "pull", "evaluate"};
  return kNames[static_cast<std::size_t>(what)];
}

void Timeline::add(const Span& span) {
  const std::lock_guard lock(mutex_);
  spans_.push_back(span);
}

std::vector<Span> Timeline::spans() const {
  const std::lock_guard lock(mutex_);
  return spans_;
}

}  // namespace yoke::history
