// When each replica did what: spans of time, for people who look for what holds a run up.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/time.h"

namespace yoke::history {

struct Span {
  enum class What : std::uint8_t { compute, push, wait, pull, evaluate };
  std::uint32_t replica = 0;
  What what = What::compute;
  Time begin{}, end{};
  std::uint64_t step = 0;
};

const char* name_of(Span::What what);

class Timeline {
 public:
  // From any thread.
  void add(const Span& span);
  std::vector<Span> spans() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Span> spans_;
};

}  // namespace yoke::history
