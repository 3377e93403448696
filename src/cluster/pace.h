// Keeps work in the background from taking much of the machine: after each piece of it the thread that does it rests
// for several times as long, until it is told to hurry.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/time.h"

namespace yoke::cluster {

class Pace {
 public:
  // It rests `times` as long as it has worked, and no longer than `longest`.
  Pace(double times, Duration longest) : times_(times), longest_(longest) {}

  // In the thread that works: it begins, and a piece is done.
  void begin();
  void rest();
  // No rest from now on; from any thread.
  void hurry();

 private:
  const double times_;
  const Duration longest_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool hurried_ = false;
  std::chrono::steady_clock::time_point since_{};  // it has worked
};

}  // namespace yoke::cluster
