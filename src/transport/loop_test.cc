#include "transport/loop.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace yoke::transport {
namespace {

using std::chrono::milliseconds;

struct Sockets {
  Sockets() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0); }
  ~Sockets() {
    for (const int fd : ends) close(fd);
  }
  void ring() { EXPECT_EQ(write(ends[1], "x", 1), 1); }
  std::array<int, 2> ends{};
};

TEST(Loop, TimersComeInOrderAndNotBeforeTheirTime) {
  Loop loop;
  std::string order;
  const auto begin = Loop::now();
  loop.after(milliseconds(20), [&] {
    order += 'c';
    EXPECT_GE(Loop::now() - begin, milliseconds(20));
    loop.stop();
  });
  loop.after(milliseconds(5), [&] { order += 'a'; });
  loop.after(milliseconds(5), [&] { order += 'b'; });
  const auto cancelled = loop.after(milliseconds(1), [&] { order += '-'; });
  loop.cancel(cancelled);
  loop.cancel(cancelled);
  loop.cancel(0);
  loop.run();
  EXPECT_EQ(order, "abc");
}

TEST(Loop, ATimerMayCancelAnotherAndSetItselfAgain) {
  Loop loop;
  int times = 0;
  Loop::Timer other = 0;
  std::function<void()> again = [&] {
    loop.cancel(other);
    if (++times == 5) return loop.stop();
    loop.after(Duration::zero(), again);
  };
  loop.after(Duration::zero(), again);
  other = loop.after(Duration::zero(), [] { FAIL() << "it was cancelled in the same turn"; });
  loop.run();
  EXPECT_EQ(times, 5);
}

TEST(Loop, PostedCallsRunInTheOrderOfEachThread) {
  constexpr int kThreads = 4, kCalls = 5000;
  LoopThread loop("test");
  std::vector<std::vector<int>> seen(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kCalls; ++i)
          loop.loop().post([&, t, i] { seen[static_cast<std::size_t>(t)].push_back(i); });
      });
  }
  std::promise<void> done;
  loop.loop().post([&] { done.set_value(); });
  done.get_future().wait();
  for (const auto& one : seen) {
    ASSERT_EQ(one.size(), static_cast<std::size_t>(kCalls));
    for (int i = 0; i < kCalls; ++i) ASSERT_EQ(one[static_cast<std::size_t>(i)], i);
  }
}

TEST(Loop, WhatWasPostedBeforeTheStopIsDone) {
  Loop loop;
  int done = 0;
  loop.post([&] { loop.post([&] { ++done; }); });
  loop.post([&] { loop.later([&] { ++done; }); });
  loop.stop();
  loop.run();
  EXPECT_EQ(done, 2);
  loop.post([&] { loop.stop(); });
  loop.run();  // and may run again
}

TEST(Loop, WhatIsLeftIsDroppedWithIt) {
  auto held = std::make_shared<int>();
  auto poster = [] {
    Loop loop;
    return loop.poster();
  }();
  poster([held] { FAIL(); });
  {
    Loop loop;
    // Going, it leaves something behind, as connections do.
    struct Leaver {
      Loop::Poster post;
      std::shared_ptr<int> kept;
      ~Leaver() {
        post([kept = kept] { FAIL(); });
      }
    };
    auto leaver = std::make_shared<Leaver>(loop.poster(), held);
    loop.post([leaver] { FAIL(); });
    loop.later([leaver] { FAIL(); });
    loop.after(Duration::zero(), [leaver] { FAIL(); });
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Loop, LaterIsBeforeTheLoopSleepsAndAfterAllThatIsReady) {
  Loop loop;
  Sockets one, two;
  std::string order;
  for (auto* sockets : {&one, &two}) {
    loop.watch(sockets->ends[0], EPOLLIN, [&, fd = sockets->ends[0]](std::uint32_t) {
      loop.forget(fd);
      order += 'r';
      if (order.size() == 1) loop.later([&] { order += 'l', loop.later([&] { order += 'm', loop.stop(); }); });
    });
    sockets->ring();
  }
  loop.run();
  EXPECT_EQ(order, "rrlm");
}

TEST(Loop, AnEventOfADescriptorThatWasForgottenInTheSameTurnIsNotSeen) {
  Loop loop;
  Sockets one, two;
  int seen = 0;
  const auto first_wins = [&](std::uint32_t) {
    ++seen;
    loop.forget(one.ends[0]);
    loop.forget(two.ends[0]);
    // The number of one that was ready is another's by now.
    loop.watch(one.ends[0], 0, [](std::uint32_t) { FAIL() << "an event of its predecessor's"; });
    loop.watch(two.ends[0], 0, [](std::uint32_t) { FAIL() << "an event of its predecessor's"; });
    loop.post([&] { loop.stop(); });
  };
  loop.watch(one.ends[0], EPOLLIN, first_wins);
  loop.watch(two.ends[0], EPOLLIN, first_wins);
  one.ring();
  two.ring();
  loop.run();
  EXPECT_EQ(seen, 1);
}

TEST(Loop, ACallbackMayForgetItself) {
  Loop loop;
  Sockets sockets;
  auto held = std::make_shared<int>(5);
  loop.watch(sockets.ends[0], EPOLLIN, [&loop, &sockets, held](std::uint32_t) {
    loop.forget(sockets.ends[0]);
    EXPECT_EQ(*held, 5) << "what it holds lives until it returns";
    loop.stop();
  });
  sockets.ring();
  loop.run();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Loop, WatchesWhatItIsToldTo) {
  Loop loop;
  Sockets sockets;
  std::vector<std::uint32_t> events;
  loop.watch(sockets.ends[0], EPOLLIN, [&](std::uint32_t event) {
    events.push_back(event);
    if (event & EPOLLOUT) return loop.stop();
    loop.rewatch(sockets.ends[0], EPOLLOUT);
  });
  sockets.ring();
  loop.run();
  EXPECT_EQ(events, (std::vector<std::uint32_t>{EPOLLIN, EPOLLOUT}));
}

// --- somebody else takes the turns ---

constexpr Time kLong = Time::max();

TEST(Loop, AVisitorTakesTheTurnsAndGivesThemBack) {
  LoopThread loop("test");
  Sockets sockets;
  std::promise<std::thread::id> own;
  loop.loop().post([&] { own.set_value(std::this_thread::get_id()); });
  const auto loops_thread = own.get_future().get();
  std::vector<std::thread::id> by;
  const auto note = [&] { by.push_back(std::this_thread::get_id()); };
  {
    Loop::Visit visit(loop.loop());
    bool began = false;
    loop.loop().post([&] { began = true; });  // by whichever of them
    visit.take_turns(kLong, [&] { return began; });
    loop.loop().post([&] {
      note();
      loop.loop().later(note);
      loop.loop().after(milliseconds(1), note);
      loop.loop().watch(sockets.ends[0], EPOLLIN, [&](std::uint32_t) {
        loop.loop().forget(sockets.ends[0]);
        note();
      });
      sockets.ring();
    });
    visit.take_turns(kLong, [&] { return by.size() == 4; });
  }
  EXPECT_EQ(by, std::vector(4, std::this_thread::get_id()));
  std::promise<std::thread::id> after;
  loop.loop().post([&] { after.set_value(std::this_thread::get_id()); });
  EXPECT_EQ(after.get_future().get(), loops_thread);
}

TEST(Loop, WhatAVisitorLeavesBehindIsDone) {
  LoopThread loop("test");
  Sockets sockets;
  std::promise<void> timer, event;
  {
    Loop::Visit visit(loop.loop());
    bool set = false;
    loop.loop().post([&] {
      loop.loop().after(milliseconds(1), [&] { timer.set_value(); });
      loop.loop().watch(sockets.ends[0], EPOLLIN, [&](std::uint32_t) {
        loop.loop().forget(sockets.ends[0]);
        event.set_value();
      });
      set = true;
    });
    visit.take_turns(kLong, [&] { return set; });
    sockets.ring();
  }
  timer.get_future().wait();
  event.get_future().wait();
}

TEST(Loop, NothingIsLostBetweenVisitsOfTwo) {
  constexpr int kCalls = 3000;
  LoopThread loop("test");
  int posted = 0, timers = 0;  // the turns', whoever takes them
  std::atomic<int> seen{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < kCalls; ++i) {
          Loop::Visit visit(loop.loop());
          const int before = seen;
          loop.loop().post([&] {
            ++posted;
            loop.loop().after(Duration::zero(), [&] { ++timers; });
            ++seen;
          });
          visit.take_turns(kLong, [&] { return seen > before; });
        }
      });
  }
  std::promise<void> done;
  loop.loop().post([&] { loop.loop().after(milliseconds(1), [&] { done.set_value(); }); });
  done.get_future().wait();
  EXPECT_EQ(posted, 2 * kCalls);
  EXPECT_EQ(timers, 2 * kCalls);
}

TEST(Loop, WhatIsPostedQuietlyIsDoneWithWhatFollows) {
  LoopThread loop("test");
  std::string order;
  std::promise<void> first, second;
  loop.loop().post_quietly([&] { order += 'a'; });
  loop.loop().post([&] { order += 'b', first.set_value(); });
  first.get_future().wait();
  loop.loop().post_quietly([&] { order += 'c', second.set_value(); });
  loop.loop().wake();
  second.get_future().wait();
  EXPECT_EQ(order, "abc");
}

TEST(Loop, OneThatGivesWayTakesNoCoreFromWhoComputes) {
  LoopThread loop("test");
  loop.give_way();
  std::promise<int> policy;
  loop.loop().post([&] { policy.set_value(sched_getscheduler(0)); });
  EXPECT_EQ(policy.get_future().get(), SCHED_BATCH);
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
}

}  // namespace
}  // namespace yoke::transport
