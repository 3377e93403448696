#include "cluster/workers.h"

namespace yoke::cluster {

Workers::Workers(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
}

void Workers::post(Call work) {
  if (threads_.empty()) return work();
  {
    const std::lock_guard lock(mutex_);
    if (next_ > queue_.size() / 2) {  // the memory serves again
      queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(next_));
      next_ = 0;
    }
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
}

void Workers::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stop_ || next_ < queue_.size(); });
    if (stop_) return;
    auto work = std::move(queue_[next_++]);
    lock.unlock();
    work();
    work = {};  // what it holds goes without the lock
    lock.lock();
  }
}

}  // namespace yoke::cluster
