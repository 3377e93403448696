#include "launch/child.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <cassert>
#include <cerrno>

namespace yoke::launch {
namespace {

constexpr std::size_t kKeptBytes = 512;
constexpr std::size_t kReadAtOnce = 64 << 10;
constexpr std::size_t kReadAtLast = 1 << 20;
constexpr std::chrono::milliseconds kBetweenLooks{20};
enum Watched { kEnd, kOut, kErr, kReady };

// Bytes read; 0: there are none at present; the pipe is closed when there will be none any more.
std::size_t read_some(Descriptor& pipe, std::span<char> into) {
  if (!pipe) return 0;
  const auto bytes = read(pipe.get(), into.data(), into.size());
  if (bytes > 0) return static_cast<std::size_t>(bytes);
  if (bytes == 0 || (errno != EAGAIN && errno != EINTR)) pipe.close();
  return 0;
}

}  // namespace

std::string signal_name(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::string in_words(const Ending& ending) {
  return ending.signal ? "was ended by " + signal_name(ending.signal)
                       : fmt::format("ended with status {}", ending.status);
}

std::string Child::epitaph(std::string_view when) const {
  assert(ending_);
  auto words = fmt::format("{} {}{}", name_, in_words(*ending_), when);
  if ((!ending_->good() || !when.empty()) && !last_lines_.empty()) words += ": " + last_lines_.back();
  return words;
}

std::array<pollfd, Child::kWatched> Child::watched() const {
  const auto in = [](const Descriptor& from) { return pollfd{from.get(), POLLIN, 0}; };  // poll skips closed ones
  return {in(process_.end), in(process_.out), in(process_.err), in(process_.ready)};
}

Child::Clock::time_point Child::due(Clock::time_point now) const {
  auto when = Clock::time_point::max();
  if (ending_ && !gone()) when = ended_at_ + kAfterwards;
  if (group_left_) when = std::min(when, now + kBetweenLooks);  // nothing tells when a group is empty
  return when;
}

void Child::look(std::span<const pollfd, kWatched> seen, Clock::time_point now, const Sink& sink) {
  if (seen[kOut].revents) read_output(false, sink);
  if (seen[kErr].revents) read_output(true, sink);
  if (seen[kReady].revents) read_ready();
  if (seen[kEnd].revents) note_end(now);
  if (group_left_) look_for_group();
  if (ending_ && !gone() && now >= ended_at_ + kAfterwards) cut_off(sink);
}

void Child::note_end(Clock::time_point now) {
  int status = 0;
  pid_t which = 0;
  while ((which = waitpid(pid(), &status, WNOHANG)) < 0 && errno == EINTR) continue;
  if (which == 0) return;
  Ending ending;
  if (which < 0) {
    ending.status = 255;  // somebody else has waited for it, and knows more
  } else if (WIFSIGNALED(status)) {
    ending.signal = WTERMSIG(status);
  } else {
    ending.status = WEXITSTATUS(status);
  }
  ending_ = ending;
  ended_at_ = now;
  process_.end.close();
  while (read_ready()) continue;  // it may have said so just before
  process_.ready.close();
  look_for_group();
}

// The number of a group is not given to another as long as it has a member, so this and signal_group() reach nobody
// else. Those whose parents have ended are the launcher's children (see Supervisor): it has to wait for them, or the
// group would never be empty.
void Child::look_for_group() {
  while (waitpid(-pid(), nullptr, WNOHANG) > 0) continue;
  group_left_ = kill(-pid(), 0) == 0 || errno != ESRCH;
}

void Child::signal_group(int signal) const {
  if (group_lives()) kill(-pid(), signal);
}

bool Child::read_output(bool is_error, const Sink& sink) {
  Descriptor& pipe = is_error ? process_.err : process_.out;
  Lines& lines = is_error ? err_ : out_;
  if (!pipe) return false;
  std::array<char, kReadAtOnce> bytes;
  const auto count = read_some(pipe, bytes);
  const auto line = [&](std::string_view text) { take_line(text, is_error, sink); };
  lines.add({bytes.data(), count}, line);
  if (!pipe) lines.finish(line);
  return count > 0;
}

bool Child::read_ready() {
  std::array<char, 4096> bytes;
  const auto count = read_some(process_.ready, bytes);
  ready_.add({bytes.data(), count}, [&](std::string_view line) {
    if (!ready_line_) ready_line_ = line;
  });
  if (ready_line_) process_.ready.close();
  return count > 0 && process_.ready;
}

// Others hold the pipes open and may do so for ever; what is in them by now still comes.
void Child::cut_off(const Sink& sink) {
  for (const bool is_error : {false, true}) {
    for (std::size_t pieces = kReadAtLast / kReadAtOnce; pieces > 0 && read_output(is_error, sink); --pieces) continue;
    const auto line = [&](std::string_view text) { take_line(text, is_error, sink); };
    (is_error ? process_.err : process_.out).close();
    (is_error ? err_ : out_).finish(line);
  }
}

void Child::take_line(std::string_view line, bool is_error, const Sink& sink) {
  if (is_error && line.find_first_not_of(" \t\r") != std::string_view::npos) {
    if (last_lines_.size() == kKeptLines) last_lines_.pop_front();
    last_lines_.emplace_back(line.substr(0, kKeptBytes));
  }
  sink(name_, line, is_error);
}

}  // namespace yoke::launch
