#include "launch/supervisor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <span>

namespace yoke::launch {
namespace {

constexpr std::chrono::seconds kAfterKill{5};
constexpr std::chrono::hours kLongestPoll{1};

int milliseconds_until(Child::Clock::time_point deadline) {
  const auto now = Child::Clock::now();
  if (deadline <= now) return 0;
  // Not the difference itself: it has no room for time_point::max().
  if (deadline > now + kLongestPoll) return std::chrono::milliseconds(kLongestPoll).count();
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count());
}

}  // namespace

void print_line(const std::string& name, std::string_view line, bool is_error) {
  const auto text = fmt::format("[{}] {}\n", name, line);
  const int to = is_error ? STDERR_FILENO : STDOUT_FILENO;
  for (std::string_view rest = text; !rest.empty();) {
    const auto wrote = write(to, rest.data(), rest.size());
    if (wrote >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno == EAGAIN) {  // whoever shares the terminal or pipe has made it so
      pollfd end{to, POLLOUT, 0};
      poll(&end, 1, 1000);
    } else if (errno != EINTR) {
      return;  // nobody reads any more; wait() tells the SIGPIPE
    }
  }
}

Supervisor::Supervisor(Sink sink) : sink_(std::move(sink)), thread_(std::this_thread::get_id()) {
  prctl(PR_GET_CHILD_SUBREAPER, &adopted_before_);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Supervisor::~Supervisor() {
  stop_all(Clock::duration::zero(), SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, adopted_before_);
}

void Supervisor::end_with_parent() {
  // Not by PR_SET_PDEATHSIG: that tells the end of the parent's thread, and mpirun starts ranks in threads that end.
  const auto parent = getppid();
  if (parent > 1) parent_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, parent, 0)));
}

Result<const Child*> Supervisor::start(const ChildSpec& spec) {
  assert(std::this_thread::get_id() == thread_);
  if (signals_.descriptor() < 0)
    return Error{Code::unsupported, fmt::format("{} cannot be started: no descriptor is free", spec.name)};
  auto spawned = spawn(spec);
  if (!spawned) return spawned.error();
  children_.push_back(std::make_unique<Child>(spec.name, std::move(*spawned)));
  return children_.back().get();
}

Result<std::string> Supervisor::await_ready(const Child& child, Clock::time_point deadline) {
  const auto begun = Clock::now();
  for (;;) {
    if (child.ready_line()) return *child.ready_line();
    if (child.gone()) return Error{Code::peer_down, child.epitaph(" before it was ready")};
    if (const int signal = signalled())
      return Error{Code::cancelled, fmt::format("{} came before {} was ready", signal_name(signal), child.name())};
    const auto now = Clock::now();
    if (now >= deadline) {
      const auto waited = std::chrono::duration<double>(now - begun).count();
      const auto& lines = child.last_lines();
      return Error{Code::timed_out, fmt::format("{} was not ready after {:.1f} s{}", child.name(), waited,
                                                lines.empty() ? "" : "; it last said: " + lines.back())};
    }
    pump(deadline);
  }
}

Event Supervisor::wait(Clock::time_point deadline) {
  for (bool looked = false; events_.empty(); looked = true) {
    if (looked && Clock::now() >= deadline)
      return Event{Event::Kind::timed_out, nullptr, 0, "nothing happened in time"};
    pump(deadline);
  }
  auto event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void Supervisor::pause(Clock::duration time) {
  const auto deadline = Clock::now() + time;
  while (Clock::now() < deadline && signalled() == 0) pump(deadline);
}

std::size_t Supervisor::running() const {
  return static_cast<std::size_t>(
      std::count_if(children_.begin(), children_.end(), [](const auto& child) { return !child->ending(); }));
}

void Supervisor::signal_all(int signal) {
  for (const auto& child : children_) child->signal_group(signal);
}

std::vector<const Child*> Supervisor::stop_all(Clock::duration grace, int signal) {
  drop_signals();
  signal_all(signal);
  signal_all(SIGCONT);  // one that has been stopped would not notice
  const auto deadline = Clock::now() + grace;
  while (!settled() && Clock::now() < deadline && !came(SIGINT)) pump(deadline);

  std::vector<const Child*> killed;
  for (const auto& child : children_) {
    if (child->group_lives()) killed.push_back(child.get());
  }
  signal_all(SIGKILL);
  // One that hangs in the system does not even end then.
  const auto last = Clock::now() + kAfterKill;
  while (!settled() && Clock::now() < last) pump(last);
  drop_signals();
  return killed;
}

// Waits until something happens, at most until the deadline, and notes it.
void Supervisor::pump(Clock::time_point deadline) {
  std::vector<pollfd> watched{{signals_.descriptor(), POLLIN, 0}, {parent_.get(), POLLIN, 0}};
  auto wake = deadline;
  for (const auto& child : children_) {
    const auto more = child->watched();
    watched.insert(watched.end(), more.begin(), more.end());
    wake = std::min(wake, child->due(Clock::now()));
  }
  poll(watched.data(), watched.size(), milliseconds_until(wake));  // interrupted: as if nothing had happened

  while (const int signal = signals_.take()) {
    const auto kind = signal == SIGUSR2 ? Event::Kind::checkpoint : Event::Kind::signalled;
    if (!came(signal)) events_.push_back({kind, nullptr, signal, signal_name(signal) + " came"});
  }
  if (parent_ && watched[1].revents != 0) {
    parent_.close();
    if (!came(SIGTERM))
      events_.push_back({Event::Kind::signalled, nullptr, SIGTERM, "the process that started this one has ended"});
  }
  auto seen = std::span<const pollfd>(watched).subspan(2);
  for (const auto& child : children_) {
    const bool was_gone = child->gone();
    child->look(seen.first<Child::kWatched>(), Clock::now(), sink_);
    if (child->gone() && !was_gone) events_.push_back({Event::Kind::exited, child.get(), 0, child->epitaph()});
    seen = seen.subspan(Child::kWatched);
  }
}

bool Supervisor::settled() const {
  return std::all_of(children_.begin(), children_.end(),
                     [](const auto& child) { return child->gone() && !child->group_lives(); });
}

bool Supervisor::came(int signal) const {
  return std::any_of(events_.begin(), events_.end(), [&](const Event& event) { return event.signal == signal; });
}

int Supervisor::signalled() const {
  for (const auto& event : events_) {
    if (event.kind == Event::Kind::signalled) return event.signal;
  }
  return 0;
}

void Supervisor::drop_signals() {
  std::erase_if(events_, [](const Event& event) { return event.kind == Event::Kind::signalled; });
}

}  // namespace yoke::launch
