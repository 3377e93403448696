// At most so many replicas compute at the same time: more threads than cores would only get in each other's way. Turns
// are given in the order of asking.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace yoke::train {

class Turns {
 public:
  explicit Turns(std::uint32_t at_once) : free_(at_once) {}

  void take();
  void give_back();

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::uint32_t free_;
  std::uint64_t asked_ = 0;   // numbers handed out
  std::uint64_t served_ = 0;  // numbers called
};

// One replica's hold on a turn; given back when it goes.
class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(turns) {}
  ~Turn() { release(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  void acquire() {
    if (!held_) turns_.take();
    held_ = true;
  }
  void release() {
    if (held_) turns_.give_back();
    held_ = false;
  }

 private:
  Turns& turns_;
  bool held_ = false;
};

}  // namespace yoke::train
