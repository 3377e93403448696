#include "transport/loop.h"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <span>
#include <system_error>

#include "base/give_way.h"

namespace yoke::transport {
namespace {

constexpr int kEvents = 64;  // of one turn
constexpr auto kLongestTurn = std::chrono::seconds(1);

int checked(int fd, const char* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return fd;
}

}  // namespace

Loop::Mailbox::Mailbox() : event(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {}

Loop::Mailbox::~Mailbox() { close(event); }

void Loop::Mailbox::ring() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(event, &one, sizeof one);
}

void Loop::Mailbox::answer() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = read(event, &count, sizeof count);
}

// It rings when it has let go of the lock: whom it wakes runs at once, perhaps on this very core, and wants it.
void Loop::Mailbox::post(Call call, bool loudly) {
  bool sleeps = false;
  {
    const std::lock_guard lock(mutex);
    if (ended) return;
    posted.push_back(std::move(call));
    sleeps = loudly && std::exchange(asleep, false);
  }
  if (sleeps) ring();
}

void Loop::Mailbox::wake_up() {
  bool sleeps = false;
  {
    const std::lock_guard lock(mutex);
    sleeps = !posted.empty() && std::exchange(asleep, false);
  }
  if (sleeps) ring();
}

Loop::Loop()
    : epoll_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll")),
      all_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll")),
      box_(std::make_shared<Mailbox>()) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = box_->event;
  checked(epoll_ctl(all_, EPOLL_CTL_ADD, box_->event, &event), "epoll_ctl");
  shield(false);
}

void Loop::shield(bool from_events) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = epoll_;
  checked(epoll_ctl(all_, from_events ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, epoll_, &event), "epoll_ctl");
  box_->shielded = from_events;
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
  close(all_);
  close(epoll_);
}

Time Loop::now() { return std::chrono::steady_clock::now().time_since_epoch(); }

void Loop::stop() {
  const std::lock_guard lock(box_->mutex);
  box_->stop = true;
  box_->ring();
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
  auto calls = std::exchange(spare_, {});
  {
    const std::lock_guard lock(box_->mutex);
    calls.swap(box_->posted);
  }
  for (auto& call : calls) call();
  calls.clear();
  spare_ = std::move(calls);
}

void Loop::run_later() {
  while (!later_.empty()) {
    auto calls = std::exchange(spare_, {});
    calls.swap(later_);
    for (auto& call : calls) call();
    calls.clear();
    spare_ = std::move(calls);
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

void Loop::clear_up() {
  run_posted();
  run_timers();
  run_later();
}

// False: there were none.
bool Loop::see_to_events() {
  epoll_event events[kEvents];
  const int count = epoll_wait(epoll_, events, kEvents, 0);
  for (const auto& event : std::span(events).first(static_cast<std::size_t>(std::max(count, 0)))) {
    const auto fd = static_cast<int>(event.data.u64 & 0xffffffff);
    const auto it = watches_.find(fd);
    // An earlier event of this turn may have ended it, and the number may be another descriptor's by now.
    if (it == watches_.end() || it->second->generation != event.data.u64 >> 32) continue;
    const auto entry = it->second;
    entry->ready(event.events);
  }
  return count > 0;
}

void Loop::run() {
  epoll_event events[2];
  std::uint64_t visits = 0;
  for (;;) {
    clear_up();
    int timeout = until_timer();
    {
      std::unique_lock lock(box_->mutex);
      if (box_->lent) {
        stand_aside(lock);
        continue;
      }
      if (!box_->posted.empty()) {
        timeout = 0;
      } else if (box_->stop) {
        box_->stop = false;
        return;
      } else {
        box_->asleep = timeout != 0;
      }
      wakes_at_ = timers_.empty() ? Time::max() : timers_.begin()->first.first;
      box_->waiting = true;
      visits = box_->visits;
    }
    if (timeout != 0) {
      const int woken = epoll_wait(all_, events, 2, timeout);
      for (int i = 0; i < woken; ++i)
        if (events[i].data.fd == box_->event) box_->answer();
    }
    {
      std::unique_lock lock(box_->mutex);
      box_->asleep = box_->waiting = false;
      if (box_->lent) stand_aside(lock);
      if (box_->visits != visits) continue;  // there may be other timers now
    }
    see_to_events();
  }
}

// --- the turns are somebody else's ---

void Loop::stand_aside(std::unique_lock<std::mutex>& lock) {
  box_->aside = true;
  box_->back.notify_one();  // who waits for it
  box_->back.wait(lock, [&] { return !box_->lent; });
  box_->aside = false;
}

void Loop::give_back() {
  bool aside = false, ring = false;
  {
    const std::lock_guard lock(box_->mutex);
    box_->lent = false;
    if (box_->shielded) shield(false);
    aside = box_->aside;
    if (!aside && box_->waiting) {
      const bool sooner = !timers_.empty() && timers_.begin()->first.first < wakes_at_;
      ring = sooner || !box_->posted.empty() || box_->stop;
      box_->asleep = !ring;
    }
  }
  if (aside) box_->back.notify_one();
  if (ring) box_->ring();
}

// False: it was time before the loop's thread was through with its turn. Who waits for that sleeps: on one core,
// looking on would only keep it from getting there.
bool Loop::Visit::borrow(Time until) {
  auto& box = *loop_.box_;
  {
    std::unique_lock lock(box.mutex);
    if (box.lent) return false;
    box.lent = true;
    ++box.visits;
    const std::chrono::steady_clock::time_point limit(std::min(until, now() + kLongestTurn));
    if (box.back.wait_until(lock, limit, [&] { return box.waiting || box.aside; })) {
      box.asleep = false;  // nobody has to ring any more
      if (box.waiting) loop_.shield(true);
      return true;
    }
  }
  loop_.give_back();
  return false;
}

void Loop::Visit::take_turns(Time until, const std::function<bool()>& enough) {
  if (!borrowed_) borrowed_ = borrow(until);
  if (!borrowed_) {
    while (!enough() && now() < until) sched_yield();
    return;
  }
  for (;;) {
    loop_.clear_up();
    if (enough()) return;
    if (loop_.see_to_events()) continue;
    if (now() >= until) return;
    sched_yield();
  }
}

void Loop::Visit::end() {
  if (std::exchange(borrowed_, false)) loop_.give_back();
}

LoopThread::LoopThread(const char* name) : thread_([this] { loop_.run(); }) {
  pthread_setname_np(thread_.native_handle(), name);
}

void LoopThread::give_way() { yoke::give_way(thread_.native_handle()); }

void LoopThread::stop() {
  if (!thread_.joinable()) return;
  loop_.stop();
  thread_.join();
}

}  // namespace yoke::transport
