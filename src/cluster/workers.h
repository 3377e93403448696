// Threads that run a server's passes over payload, so that its loop stays free to hear.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace yoke::cluster {

class Workers {
 public:
  // 0: whoever posts does the work himself.
  explicit Workers(unsigned threads);
  // What is queued is dropped, what runs is waited for.
  ~Workers();

  void post(std::function<void()> work);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace yoke::cluster
