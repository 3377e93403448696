// What will happen when, in virtual time. At the same instant, first come first served.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/time.h"

namespace yoke::sim {

class Queue {
 public:
  using Action = std::function<void()>;

  void add(Time at, Action action) {
    heap_.push_back({at, next_++, std::move(action)});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  // None of it will happen.
  void clear() { heap_.clear(); }
  bool empty() const { return heap_.empty(); }
  // Not empty.
  std::pair<Time, Action> take() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    auto entry = std::move(heap_.back());
    heap_.pop_back();
    return {entry.at, std::move(entry.action)};
  }

 private:
  struct Entry {
    Time at;
    std::uint64_t order;
    Action action;
  };
  static bool later(const Entry& a, const Entry& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; }

  std::vector<Entry> heap_;
  std::uint64_t next_ = 0;
};

}  // namespace yoke::sim
