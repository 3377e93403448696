// Starts the processes of a job on this machine, passes on what they say, and sees to it that none is left behind.
#pragma once

#include <signal.h>

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "launch/child.h"
#include "launch/signals.h"
#include "yoke/error.h"

namespace yoke::launch {

struct Event {
  enum class Kind {
    exited,
    signalled,   // the launcher is told to stop
    checkpoint,  // by SIGUSR2 somebody asks for one
    timed_out,
  };
  Kind kind = Kind::timed_out;
  const Child* child = nullptr;  // exited: who; its ending() says how
  int signal = 0;                // signalled: what the launcher has been sent, see Signals
  std::string words;             // "replica 3 was ended by SIGKILL", "SIGINT came", "nothing happened in time"
};

// Writes "[server 0] line" to the standard output or error.
void print_line(const std::string& name, std::string_view line, bool is_error);

// One thread makes it, uses it, and lives as long as the children should: the kernel kills them when it ends (see
// spawn). Nothing happens behind its back: output is passed on and ends are noticed inside the calls below.
//
// While it lives it changes the process: signals as Signals says, and processes whose parents have ended become the
// launcher's children instead of init's, so that whole groups can be waited for. One at a time, before other threads.
class Supervisor {
 public:
  using Clock = Child::Clock;

  explicit Supervisor(Sink sink = print_line);
  // Kills what is left, and waits for its end.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // From now on the end of the process that has started this one counts as a SIGTERM: nobody else would tell it to
  // stop.
  void end_with_parent();

  // The child stays valid, also after its end, as long as the supervisor. Fails as spawn does.
  Result<const Child*> start(const ChildSpec& spec);
  // The line with which a child that was given a ready pipe says that it is ready. Code::peer_down: it ended before.
  // Code::timed_out: neither happened. Code::cancelled: the launcher has been sent a signal, which wait() tells next.
  Result<std::string> await_ready(const Child& child, Clock::time_point deadline);
  // What happened next; each end is told once, when all output has been passed on. A deadline in the past: only what
  // is known or at hand.
  Event wait(Clock::time_point deadline);

  // Passes on output and notes what happens, for at most so long; wait() tells it.
  void pause(Clock::duration time);
  int signalled() const;  // what the launcher has been sent first, and wait() has not told yet; 0: nothing

  std::size_t running() const;  // children that are not known to have ended
  // To the groups of all children: to themselves and what they have started.
  void signal_all(int signal);
  // Sends `signal` to all groups, SIGKILL to those that are left after `grace` (at once if a SIGINT comes meanwhile),
  // and waits for the end of all, at most 5 s more. Answers whose groups had to be killed. wait() still tells the ends;
  // signals that came before or meanwhile are taken as obeyed.
  std::vector<const Child*> stop_all(Clock::duration grace, int signal = SIGTERM);

 private:
  void pump(Clock::time_point deadline);
  bool settled() const;
  bool came(int signal) const;  // and wait() has not told yet
  void drop_signals();

  const Sink sink_;
  const std::thread::id thread_;
  int adopted_before_ = 0;
  Signals signals_;
  Descriptor parent_;  // readable once it has ended
  std::vector<std::unique_ptr<Child>> children_;
  std::deque<Event> events_;
};

}  // namespace yoke::launch
