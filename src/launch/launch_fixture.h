// For tests: children that are shell scripts, what they say, and whether a process has ended.
#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "launch/descriptor.h"
#include "launch/meeting.h"
#include "launch/supervisor.h"

namespace yoke::launch {

// Waits end when something happens; this is for when it does not.
inline Supervisor::Clock::time_point in_time() { return Supervisor::Clock::now() + std::chrono::seconds(60); }

// The same for a meeting whose other ranks are threads of the test: they have their turn meanwhile.
inline Waiting patient() {
  return {in_time(), [](std::chrono::milliseconds) {
            std::this_thread::yield();
            return true;
          }};
}

inline ChildSpec shell(std::string name, std::string script) {
  return {.name = std::move(name),
          .argv = {"sh", "-c", std::move(script)},
          .standard_output = StandardOutput::capture,
          .ready_pipe = false};
}

// In the script, `ready WORDS` says them on the ready pipe. By its name: not every shell takes numbers above 9.
inline ChildSpec ready_shell(std::string name, const std::string& script) {
  auto spec = shell(std::move(name), R"(ready() { echo "$@" >"/dev/fd/$YOKE_READY_FD"; }; )" + script);
  spec.ready_pipe = true;
  return spec;
}

// Keeps lines as "name> line", "name! line" for errors.
class Said {
 public:
  Sink sink() {
    return [this](const std::string& name, std::string_view line, bool is_error) {
      lines_.push_back(name + (is_error ? "! " : "> ") + std::string(line));
    };
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

using Strings = std::vector<std::string>;

// What a script says until it has ended.
inline Strings said_by(const ChildSpec& spec) {
  Said said;
  Supervisor supervisor(said.sink());
  const auto child = supervisor.start(spec);
  if (!child) return {child.error().message};
  supervisor.wait(in_time());
  return said.lines();
}

// A process that need not be ours.
class Witness {
 public:
  explicit Witness(pid_t pid) : end_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}
  bool found() const { return static_cast<bool>(end_); }
  bool ended(int within_ms) const {
    pollfd end{end_.get(), POLLIN, 0};
    return poll(&end, 1, within_ms) == 1;
  }

 private:
  Descriptor end_;
};

}  // namespace yoke::launch
