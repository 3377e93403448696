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

  // `lasting`: it happens whatever becomes of the job.
  void add(Time at, Action action, bool lasting = false) {
    heap_.push_back({at, next_++, std::move(action), lasting});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  // None of it will happen, but what lasts.
  void clear() {
    std::erase_if(heap_, [](const auto& entry) { return !entry.lasting; });
    std::make_heap(heap_.begin(), heap_.end(), later);
  }
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
    bool lasting = false;
  };
  static bool later(const Entry& a, const Entry& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; }

  std::vector<Entry> heap_;
  std::uint64_t next_ = 0;
};

}  // namespace yoke::sim
