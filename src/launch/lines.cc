#include "launch/lines.h"

#include <algorithm>
#include <utility>

namespace yoke::launch {

void Lines::add(std::string_view bytes, const Line& line) {
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const auto rest = std::min(newline, bytes.size());
    const auto fits = std::min(rest, kLongest - begun_.size());
    begun_.append(bytes.substr(0, fits));
    bytes.remove_prefix(fits);
    // A full piece goes only when more comes: the newline may be next.
    if (bytes.empty()) return;
    line(begun_);
    begun_.clear();
    if (bytes.front() == '\n') bytes.remove_prefix(1);
  }
}

void Lines::finish(const Line& line) {
  const auto last = std::exchange(begun_, {});
  if (!last.empty()) line(last);
}

}  // namespace yoke::launch
