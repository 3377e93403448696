#include "launch/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "launch/child_environment.h"

namespace yoke::launch {
namespace {

constexpr int kExecLimitMs = 30'000;

// Above 0, 1 and 2, which the child replaces; a launcher that was started without them would get these numbers.
Descriptor lifted(Descriptor low) {
  if (!low || low.get() > STDERR_FILENO) return low;
  return Descriptor(fcntl(low.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

struct Pipe {
  Descriptor from, to;

  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    from = lifted(Descriptor(ends[0]));
    to = lifted(Descriptor(ends[1]));
    return from && to && fcntl(from.get(), F_SETFL, O_NONBLOCK) == 0;
  }
};

struct Pipes {
  Descriptor null;
  Pipe status, err, out, ready;

  bool open(const ChildSpec& spec) {
    null = lifted(Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
    return null && status.open() && err.open() && (spec.standard_output == StandardOutput::inherit || out.open()) &&
           (!spec.ready_pipe || ready.open());
  }
};

// What the child does between fork and exec needs no memory and no lock: other threads of the launcher may have held
// some when it was forked. Each call answers 0, or the errno that says why not.
struct Plan {
  std::vector<char*> argv, environment;  // null at the end
  std::vector<std::string> programs;     // to be tried in turn
  pid_t parent = 0;
  cpu_set_t cores{};  // none: wherever its parent may run
};

int arrange_descriptors(const Pipes& pipes) {
  if (dup2(pipes.null.get(), STDIN_FILENO) < 0 || dup2(pipes.err.to.get(), STDERR_FILENO) < 0) return errno;
  if (pipes.out.to && dup2(pipes.out.to.get(), STDOUT_FILENO) < 0) return errno;
  // Closed by the exec, not now: until then the status pipe is needed.
  if (close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) != 0) return errno;
  return pipes.ready.to && fcntl(pipes.ready.to.get(), F_SETFD, 0) != 0 ? errno : 0;
}

// By the kernel's own call: the library's refuses the two signals that it keeps for its threads, and whoever started
// the launcher may have left these ignored as well.
void forget_signals() {
  struct {
    void (*handler)(int) = SIG_DFL;
    unsigned long flags = 0;
    void (*restorer)() = nullptr;
    unsigned long mask = 0;
  } plain;
  // KILL and STOP cannot be, and need not.
  for (int signal = 1; signal < NSIG; ++signal) syscall(SYS_rt_sigaction, signal, &plain, nullptr, sizeof plain.mask);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// As a shell looks along PATH: what is there and may not be run is remembered, in case there is nothing better.
int exec_first(const Plan& plan) {
  int problem = ENOENT;
  for (const auto& program : plan.programs) {
    execve(program.c_str(), plan.argv.data(), plan.environment.data());
    if (errno == EACCES) problem = EACCES;
    if (errno != EACCES && errno != ENOENT && errno != ENOTDIR) return errno;
  }
  return problem;
}

[[noreturn]] void become(const Plan& plan, const Pipes& pipes) {
  int problem = setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ? errno : 0;
  if (getppid() != plan.parent) _exit(127);  // it went before the line above: nobody would be told
  if (problem == 0) problem = arrange_descriptors(pipes);
  forget_signals();
  // Where it may not be (the set of cores has shrunk since) it runs anywhere.
  if (CPU_COUNT(&plan.cores) > 0) sched_setaffinity(0, sizeof plan.cores, &plan.cores);
  if (problem == 0) problem = exec_first(plan);
  [[maybe_unused]] const auto told = write(pipes.status.to.get(), &problem, sizeof problem);
  _exit(127);
}

pid_t fork_into(const Plan& plan, const Pipes& pipes) {
  // No handler of the launcher's may run in the child.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) become(plan, pipes);
  const int problem = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = problem;
  return pid;
}

// 0 when the status pipe is closed without a word, as the exec does it.
int await_exec(int status) {
  pollfd end{status, POLLIN, 0};
  int ready = 0;
  while ((ready = poll(&end, 1, kExecLimitMs)) < 0 && errno == EINTR) continue;
  if (ready <= 0) return ETIMEDOUT;
  int problem = 0;
  return read(status, &problem, sizeof problem) == sizeof problem ? problem : 0;
}

}  // namespace

Result<Spawned> spawn(const ChildSpec& spec) {
  assert(!spec.argv.empty());
  const auto refuse = [&](Code code, int problem) {
    return Error{code, fmt::format("{}: {} cannot be run: {}", spec.name, spec.argv[0], std::strerror(problem))};
  };
  Pipes pipes;
  if (!pipes.open(spec)) return refuse(Code::unsupported, errno);
  const auto environment = child_environment(
      environ, spec.environment, pipes.ready.to ? fmt::format("{}={}", kReadyVariable, pipes.ready.to.get()) : "");
  Plan plan;
  for (const auto& word : spec.argv) plan.argv.push_back(const_cast<char*>(word.c_str()));
  for (const auto& entry : environment) plan.environment.push_back(const_cast<char*>(entry.c_str()));
  plan.argv.push_back(nullptr);
  plan.environment.push_back(nullptr);
  plan.programs = programs_on_path(spec.argv[0], environment);
  plan.parent = getpid();
  if (spec.core) CPU_SET(*spec.core, &plan.cores);

  const pid_t pid = fork_into(plan, pipes);
  if (pid < 0) return refuse(Code::unsupported, errno);
  pipes.status.to.close();
  Descriptor end(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  const int no_end = end ? 0 : errno;
  const int problem = await_exec(pipes.status.from.get());
  if (problem == 0 && no_end == 0) {
    return Spawned{pid, std::move(end), std::move(pipes.out.from), std::move(pipes.err.from),
                   std::move(pipes.ready.from)};
  }
  kill(pid, SIGKILL);
  // One that hangs in the system cannot be waited for.
  while (waitpid(pid, nullptr, problem == ETIMEDOUT ? WNOHANG : 0) < 0 && errno == EINTR) continue;
  if (problem == 0) return refuse(Code::unsupported, no_end);
  return refuse(problem == ETIMEDOUT ? Code::timed_out : Code::missing, problem);
}

}  // namespace yoke::launch
