#include "transport/loop.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <system_error>

namespace yoke::transport {
namespace {

int checked(int fd, const char* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return fd;
}

}  // namespace

Loop::Mailbox::Mailbox() : event(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {}

Loop::Mailbox::~Mailbox() { close(event); }

void Loop::Mailbox::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(event, &one, sizeof one);
}

void Loop::Mailbox::post(Call call) {
  const std::lock_guard lock(mutex);
  if (ended) return;
  posted.push_back(std::move(call));
  if (asleep) wake();
  asleep = false;
}

Loop::Loop() : epoll_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll")), box_(std::make_shared<Mailbox>()) {
  watch(box_->event, EPOLLIN, [event = box_->event](std::uint32_t) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = read(event, &count, sizeof count);
  });
}

Loop::~Loop() {
  // Connections go with the calls that hold them, and may leave more behind as they go.
  for (bool more = true; more;) {
    std::vector<Call> posted;
    {
      const std::lock_guard lock(box_->mutex);
      box_->ended = true;
      posted.swap(box_->posted);
    }
    const auto later = std::exchange(later_, {});
    const auto timers = std::exchange(timers_, {});
    const auto watches = std::exchange(watches_, {});
    more = !posted.empty() || !later.empty() || !timers.empty() || !watches.empty();
  }
  close(epoll_);
}

Time Loop::now() { return std::chrono::steady_clock::now().time_since_epoch(); }

void Loop::stop() {
  const std::lock_guard lock(box_->mutex);
  box_->stop = true;
  box_->wake();
}

void Loop::watch(int fd, std::uint32_t events, Ready ready) {
  auto entry = std::make_shared<Watch>();
  entry->generation = ++generation_;
  entry->ready = std::move(ready);
  epoll_event event{};
  event.events = events;
  event.data.u64 = (std::uint64_t{entry->generation} << 32) | static_cast<std::uint32_t>(fd);
  watches_[fd] = std::move(entry);
  checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

void Loop::rewatch(int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = (std::uint64_t{watches_.at(fd)->generation} << 32) | static_cast<std::uint32_t>(fd);
  checked(epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event), "epoll_ctl");
}

void Loop::forget(int fd) {
  if (watches_.erase(fd)) epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

Loop::Timer Loop::after(Duration delay, Call call) {
  const auto at = now() + delay;
  const auto timer = next_timer_++;
  timers_.emplace(std::pair{at, timer}, std::move(call));
  timer_times_.emplace(timer, at);
  return timer;
}

void Loop::cancel(Timer timer) {
  const auto it = timer_times_.find(timer);
  if (it == timer_times_.end()) return;
  timers_.erase({it->second, timer});
  timer_times_.erase(it);
}

void Loop::later(Call call) { later_.push_back(std::move(call)); }

int Loop::until_timer() const {
  if (timers_.empty()) return -1;
  const auto left = timers_.begin()->first.first - now();
  if (left <= Duration::zero()) return 0;
  return static_cast<int>(std::min<std::int64_t>(left.count() / 1'000'000 + 1, 60'000));
}

void Loop::run_posted() {
  std::vector<Call> calls;
  {
    const std::lock_guard lock(box_->mutex);
    calls.swap(box_->posted);
  }
  for (auto& call : calls) call();
}

void Loop::run_later() {
  while (!later_.empty()) {
    auto calls = std::exchange(later_, {});
    for (auto& call : calls) call();
  }
}

void Loop::run_timers() {
  const auto time = now();
  while (!timers_.empty() && timers_.begin()->first.first <= time) {
    auto node = timers_.extract(timers_.begin());
    timer_times_.erase(node.key().second);
    node.mapped()();
  }
}

void Loop::run() {
  epoll_event events[64];
  for (;;) {
    run_posted();
    run_timers();
    run_later();
    int timeout = until_timer();
    {
      const std::lock_guard lock(box_->mutex);
      if (!box_->posted.empty()) {
        timeout = 0;
      } else if (box_->stop) {
        box_->stop = false;
        return;
      } else {
        box_->asleep = timeout != 0;
      }
    }
    const int count = epoll_wait(epoll_, events, static_cast<int>(std::size(events)), timeout);
    {
      const std::lock_guard lock(box_->mutex);
      box_->asleep = false;
    }
    for (int i = 0; i < count; ++i) {
      const auto fd = static_cast<int>(events[i].data.u64 & 0xffffffff);
      const auto it = watches_.find(fd);
      // An earlier event of this turn may have ended it, and the number may be another descriptor's by now.
      if (it == watches_.end() || it->second->generation != events[i].data.u64 >> 32) continue;
      const auto entry = it->second;
      entry->ready(events[i].events);
    }
  }
}

LoopThread::LoopThread(const char* name) : thread_([this] { loop_.run(); }) {
  pthread_setname_np(thread_.native_handle(), name);
}

void LoopThread::stop() {
  if (!thread_.joinable()) return;
  loop_.stop();
  thread_.join();
}

}  // namespace yoke::transport
