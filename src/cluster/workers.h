// Threads that run a server's passes over payload, so that its loop stays free to hear.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/call.h"

namespace yoke::cluster {

class Workers {
 public:
  // 0: whoever posts does the work himself.
  explicit Workers(unsigned threads);
  // What is queued is dropped, what runs is waited for.
  ~Workers();

  void post(Call work);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Call> queue_;  // those before `next_` have been taken
  std::size_t next_ = 0;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace yoke::cluster
