#include "cluster/pace.h"

#include <algorithm>

namespace yoke::cluster {

void Pace::begin() {
  const std::lock_guard lock(mutex_);
  since_ = std::chrono::steady_clock::now();
}

void Pace::rest() {
  using std::chrono::duration;
  std::unique_lock lock(mutex_);
  const duration<double> worked = std::chrono::steady_clock::now() - since_;
  wake_.wait_for(lock, std::min<duration<double>>(times_ * worked, longest_), [this] { return hurried_; });
  since_ = std::chrono::steady_clock::now();
}

void Pace::hurry() {
  {
    const std::lock_guard lock(mutex_);
    hurried_ = true;
  }
  wake_.notify_all();
}

}  // namespace yoke::cluster
