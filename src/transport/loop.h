// One thread's loop: descriptors that become ready, timers, and calls posted by other threads. All state of the
// connections on it belongs to that thread, so that they need no locks.
//
// Our own on epoll, not a library's: four things are needed of it (readiness, timers, posted calls, a last word before
// it sleeps), bulk reads and writes are ours in any case, and every file that includes it would parse for more than a
// second longer. docs/transport.md has the reasons.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/call.h"
#include "base/time.h"

namespace yoke::transport {

class Loop {
 public:
  using Call = yoke::Call;
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
  void post(Call call) { box_->post(std::move(call), true); }
  // Does not wake the loop: it is done with whatever comes next, at the latest after `wake`.
  void post_quietly(Call call) { box_->post(std::move(call), false); }
  void wake() { box_->wake_up(); }
  // Posts from any thread, and may outlive the loop: what comes after its end is dropped.
  class Poster;
  Poster poster() const;
  // Takes the loop's turns in its thread's place.
  class Visit;
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
    void post(Call call, bool loudly);
    void wake_up();
    void ring() const;
    void answer() const;
    const int event;  // eventfd
    std::mutex mutex;
    std::vector<Call> posted;
    bool asleep = false;           // what is posted has to be rung for
    bool waiting = false;          // the loop's thread waits for events, or is about to
    bool lent = false;             // somebody else takes the turns,
    std::uint64_t visits = 0;      // and has done so this often
    bool aside = false;            // the loop's thread stands aside until they are given back,
    bool shielded = false;         // or waits, and is not told of what is watched
    std::condition_variable back;  // one of the two waits for the other
    bool stop = false;
    bool ended = false;
  };
  int until_timer() const;
  // All that is to be done before it may wait.
  void clear_up();
  bool see_to_events();
  void stand_aside(std::unique_lock<std::mutex>& lock);
  void give_back();
  void shield(bool from_events);
  void run_posted();
  void run_later();
  void run_timers();

  const int epoll_;  // what is watched
  // What the loop's thread waits for: `epoll_`, and the mailbox. While somebody else takes the turns `epoll_` is not in
  // it, or every event would wake that thread for nothing.
  const int all_;
  const std::shared_ptr<Mailbox> box_;
  std::unordered_map<int, std::shared_ptr<Watch>> watches_;
  std::uint32_t generation_ = 0;
  std::map<std::pair<Time, Timer>, Call> timers_;
  std::unordered_map<Timer, Time> timer_times_;
  Timer next_timer_ = 1;
  std::vector<Call> later_;
  std::vector<Call> spare_;      // empty: the memory of those that were run last
  Time wakes_at_ = Time::max();  // by itself, while it waits
};

class Loop::Poster {
 public:
  void operator()(Call call) const { box_->post(std::move(call), true); }

 private:
  friend class Loop;
  explicit Poster(std::shared_ptr<Mailbox> box) : box_(std::move(box)) {}
  std::shared_ptr<Mailbox> box_;
};

// From any thread but the loop's, which stands aside meanwhile: who has nothing else to do hears what comes without
// being woken for it, and nobody has to wake the loop's thread either. One at a time: a second one only looks on.
class Loop::Visit {
 public:
  explicit Visit(Loop& loop) : loop_(loop) {}
  ~Visit() { end(); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  // Takes turns until there is enough or it is time; one at least, unless the loop's thread is at it all the while.
  // What comes then waits for the next call, or for `end`.
  void take_turns(Time until, const std::function<bool()>& enough);
  // The loop's thread goes on.
  void end();

 private:
  bool borrow(Time until);
  Loop& loop_;
  bool borrowed_ = false;
};

inline Loop::Poster Loop::poster() const { return Poster(box_); }

// A loop with a thread of its own, which ends with it.
class LoopThread {
 public:
  explicit LoopThread(const char* name);
  ~LoopThread() { stop(); }
  Loop& loop() { return loop_; }
  // From now on it takes the core from nobody who computes there, but waits until that one waits, or has had his time:
  // for who shares one core with him, and is visited by him.
  void give_way();
  // Ends the thread; nothing is called on the loop afterwards.
  void stop();

 private:
  Loop loop_;
  std::jthread thread_;
};

}  // namespace yoke::transport
