// One thread's loop: descriptors that become ready, timers, and calls posted by other threads. All state of the
// connections on it belongs to that thread, so that they need no locks.
//
// Our own on epoll, not a library's: four things are needed of it (readiness, timers, posted calls, a last word before
// it sleeps), bulk reads and writes are ours in any case, and every file that includes it would parse for more than a
// second longer. docs/transport.md has the reasons.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"

namespace yoke::transport {

class Loop {
 public:
  using Call = std::function<void()>;
  using Ready = std::function<void(std::uint32_t events)>;  // EPOLLIN and so on
  using Timer = std::uint64_t;                              // 0: none

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs until `stop`; what was posted before the stop is still done. The calling thread is the loop's from then on.
  void run();
  // From any thread.
  void stop();
  void post(Call call) { box_->post(std::move(call)); }
  // Posts from any thread, and may outlive the loop: what comes after its end is dropped.
  class Poster;
  Poster poster() const;
  static Time now();  // a clock that all processes of one host share

  // The rest from the loop's own thread, or while it does not run.
  void watch(int fd, std::uint32_t events, Ready ready);
  void rewatch(int fd, std::uint32_t events);
  void forget(int fd);
  Timer after(Duration delay, Call call);
  void cancel(Timer timer);
  // At the end of this turn, before the loop sleeps: what comes from many events is then done once.
  void later(Call call);

 private:
  struct Watch {
    std::uint32_t generation = 0;
    Ready ready;
  };
  // What other threads leave here.
  struct Mailbox {
    Mailbox();
    ~Mailbox();
    void post(Call call);
    void wake() const;
    const int event;  // eventfd
    std::mutex mutex;
    std::vector<Call> posted;
    bool asleep = false;
    bool stop = false;
    bool ended = false;
  };
  int until_timer() const;
  void run_posted();
  void run_later();
  void run_timers();

  const int epoll_;
  const std::shared_ptr<Mailbox> box_;
  std::unordered_map<int, std::shared_ptr<Watch>> watches_;
  std::uint32_t generation_ = 0;
  std::map<std::pair<Time, Timer>, Call> timers_;
  std::unordered_map<Timer, Time> timer_times_;
  Timer next_timer_ = 1;
  std::vector<Call> later_;
};

class Loop::Poster {
 public:
  void operator()(Call call) const { box_->post(std::move(call)); }

 private:
  friend class Loop;
  explicit Poster(std::shared_ptr<Mailbox> box) : box_(std::move(box)) {}
  std::shared_ptr<Mailbox> box_;
};

inline Loop::Poster Loop::poster() const { return Poster(box_); }

// A loop with a thread of its own, which ends with it.
class LoopThread {
 public:
  explicit LoopThread(const char* name);
  ~LoopThread() { stop(); }
  Loop& loop() { return loop_; }
  // Ends the thread; nothing is called on the loop afterwards.
  void stop();

 private:
  Loop loop_;
  std::jthread thread_;
};

}  // namespace yoke::transport
