#include "train/turns.h"

namespace yoke::train {

void Turns::take() {
  std::unique_lock lock(mutex_);
  const auto number = asked_++;
  wake_.wait(lock, [&] { return number == served_ && free_ > 0; });
  ++served_;
  --free_;
  wake_.notify_all();
}

void Turns::give_back() {
  {
    const std::lock_guard lock(mutex_);
    ++free_;
  }
  wake_.notify_all();
}

}  // namespace yoke::train
