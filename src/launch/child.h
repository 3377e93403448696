// A process of the job as its launcher sees it: what it says, whether it is ready, how it ended.
#pragma once

#include <poll.h>

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "launch/lines.h"
#include "launch/spawn.h"

namespace yoke::launch {

// Takes one line (or piece of one, see Lines) that a child has written, without its newline.
using Sink = std::function<void(const std::string& name, std::string_view line, bool is_error)>;

struct Ending {
  int status = 0;  // it exited with it
  int signal = 0;  // or this ended it
  bool good() const { return status == 0 && signal == 0; }
};

// "ended with status 2", "was ended by SIGKILL".
std::string in_words(const Ending& ending);
// "SIGTERM", "signal 40".
std::string signal_name(int signal);

class Child {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kKeptLines = 5;
  // After its end, what it has started may hold its pipes open: this long they are read to the end.
  static constexpr std::chrono::seconds kAfterwards{1};

  Child(std::string name, Spawned spawned) : name_(std::move(name)), process_(std::move(spawned)) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  const std::string& name() const { return name_; }
  pid_t pid() const { return process_.pid; }
  const std::optional<std::string>& ready_line() const { return ready_line_; }
  const std::optional<Ending>& ending() const { return ending_; }
  // It has ended, and what it has written has been handed on.
  bool gone() const { return ending_ && !process_.out && !process_.err; }
  // There are processes of its group, itself or what it has started.
  bool group_lives() const { return !ending_ || group_left_; }
  // The last lines of its standard error that are not blank, the oldest first, each cut to 512 bytes.
  const std::deque<std::string>& last_lines() const { return last_lines_; }
  // Once it has ended: "server 1 ended with status 2: no such port". `when` stands before the colon.
  std::string epitaph(std::string_view when = "") const;

  // The rest is the supervisor's.
  static constexpr std::size_t kWatched = 4;
  std::array<pollfd, kWatched> watched() const;
  // When it wants to be looked after even if nothing it watches has happened.
  Clock::time_point due(Clock::time_point now) const;
  // Reads and notes what there is, at most 64 KiB of each pipe. `seen` is what watched() has become in poll().
  void look(std::span<const pollfd, kWatched> seen, Clock::time_point now, const Sink& sink);
  void signal_group(int signal) const;

 private:
  void note_end(Clock::time_point now);
  void look_for_group();
  // false: there is nothing more at present.
  bool read_output(bool is_error, const Sink& sink);
  bool read_ready();
  void cut_off(const Sink& sink);
  void take_line(std::string_view line, bool is_error, const Sink& sink);

  const std::string name_;
  Spawned process_;  // a pipe is closed once it has been read to its end
  Lines out_, err_, ready_;
  std::deque<std::string> last_lines_;
  std::optional<std::string> ready_line_;
  std::optional<Ending> ending_;
  Clock::time_point ended_at_;
  bool group_left_ = false;  // after its end
};

}  // namespace yoke::launch
