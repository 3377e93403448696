#include "data/run_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace yoke::data {
namespace {

using Clock = std::chrono::steady_clock;

Result<pid_t> start(const std::vector<std::string>& words, const std::string& folder, int output) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  pid_t child = 0;
  const int problem = posix_spawnp(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem) return Error{Code::missing, fmt::format("{} cannot be run: {}", words[0], std::strerror(problem))};
  return child;
}

// Until the other end is closed (true) or the deadline passes (false).
bool collect(int pipe, Clock::time_point deadline, std::string& output) {
  constexpr std::size_t kMost = 64 << 10;
  char piece[4096];
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd end{pipe, POLLIN, 0};
    const int ready = left > 0 ? poll(&end, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const auto bytes = read(pipe, piece, sizeof piece);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return true;
    output.append(piece, std::min(static_cast<std::size_t>(bytes), kMost - output.size()));
  }
}

}  // namespace

Result<Ended> run_program(const std::vector<std::string>& words, const std::string& folder,
                          std::chrono::seconds limit) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Error{Code::unsupported, fmt::format("{} cannot be run: {}", words[0], std::strerror(errno))};
  const auto child = start(words, folder, ends[1]);
  close(ends[1]);
  Ended ended;
  const bool in_time = child && collect(ends[0], Clock::now() + limit, ended.output);
  close(ends[0]);
  if (!child) return child.error();
  if (!in_time) kill(*child, SIGKILL);
  int status = 0;
  while (waitpid(*child, &status, 0) < 0 && errno == EINTR) continue;
  if (!in_time) return Error{Code::timed_out, fmt::format("{} was still at work after {} s", words[0], limit.count())};
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

}  // namespace yoke::data
