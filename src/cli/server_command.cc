#include "cli/server_command.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "cli/exit_status.h"
#include "cluster/house.h"
#include "launch/spawn.h"

namespace yoke::cli {
namespace {

struct ServerFlags {
  std::string listen, join, shard = "0/1", history;
  std::optional<unsigned> workers;
  double deadline = 60;
  bool quiet = false;
};

Result<std::pair<std::uint32_t, std::uint32_t>> shard_of(const std::string& text) {
  unsigned shard = 0, of = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%u/%u%c", &shard, &of, &rest) != 2 || of == 0 || of > 4096 || shard >= of)
    return Error{Code::invalid_argument,
                 fmt::format("--shard {}: it is I/N, as in 0/2 and 1/2 for two servers (numbered from 0)", text)};
  return std::pair{shard, of};
}

// The signals that end a server, as something the loop can wait for. Blocked before any thread is started.
int signals(bool launched) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  // Of a job that is launched, Ctrl-C is the launcher's business.
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  if (launched) sigdelset(&set, SIGINT);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int run_server(const ServerFlags& flags) {
  const auto shard = shard_of(flags.shard);
  if (!shard) return fail(shard.error());
  cluster::HouseOptions options;
  options.shard = shard->first;
  options.shards = shard->second;
  options.listen = flags.listen;
  options.join = flags.join;
  options.deadline = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(flags.deadline));
  if (options.shard > 0 && options.join.empty())
    return fail({Code::invalid_argument,
                 "--shard " + flags.shard + ": say with --join ADDRESS where the server of shard 0 listens"});
  if (options.shard == 0 && !options.join.empty())
    return fail({Code::invalid_argument, "the server of shard 0 is the first, and joins nobody: leave out --join"});
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  options.workers = flags.workers.value_or(std::min(8u, std::max(1u, cores - 1)));
  if (!flags.history.empty()) {
    options.recorder = std::make_shared<history::Recorder>();
    if (auto streams = options.recorder->stream_to(flags.history); !streams) return fail(streams.error());
  }
  if (!flags.quiet) options.say = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };

  const char* ready = std::getenv(launch::kReadyVariable);
  const int fd = signals(ready != nullptr);
  transport::Loop loop;
  Status end;
  int signal = 0;
  options.ended = [&](const Status& status) {
    end = status;
    loop.stop();
  };
  auto house = cluster::House::open(loop, options);
  if (!house) return fail(house.error());
  loop.watch(fd, EPOLLIN, [&](std::uint32_t) {
    signalfd_siginfo info{};
    while (read(fd, &info, sizeof info) == sizeof info) signal = static_cast<int>(info.ssi_signo);
    (*house)->stop(fmt::format("server {} was told to end", options.shard));
  });
  if (ready) {
    const auto line = (*house)->address() + "\n";
    [[maybe_unused]] const auto written = write(std::atoi(ready), line.data(), line.size());
    close(std::atoi(ready));
  } else if (!flags.quiet) {
    fmt::print("shard {} of {} at {}\n", options.shard, options.shards, (*house)->address());
    std::fflush(stdout);
  }
  loop.run();
  house->reset();
  if (signal) return signal == SIGTERM ? kTerminated : kInterrupted;
  return end ? static_cast<int>(kDone) : fail(end.error());
}

}  // namespace

void add_server(CLI::App& app, int& status) {
  auto flags = std::make_shared<ServerFlags>();
  auto* command = app.add_subcommand(
      "server",
      "Host a part of a job's parameters. It knows nothing of the job beforehand: the replicas bring it. It ends when "
      "the job is over. (`yoke launch` starts servers by itself.)");
  command->footer(
      "Examples, a job on two hosts:\n"
      "  yoke server --listen 10.0.0.1:7000 --shard 0/2                         on the first host\n"
      "  yoke server --listen 10.0.0.2:7000 --shard 1/2 --join 10.0.0.1:7000    on the second\n"
      "  yoke replica --join 10.0.0.1:7000 --replicas 4 --data fashion-mnist    four times, anywhere\n"
      "\n"
      "Addresses are HOST:PORT, unix:PATH or shm:PATH (one host: payload stays in shared memory). Whoever reaches the "
      "address can take part: listen on addresses that only your own machines reach.");
  command->add_option("--listen", flags->listen, "where replicas find it; port 0: any that is free")
      ->required()
      ->type_name("ADDRESS");
  command->add_option("--shard", flags->shard, "which part it hosts, of how many, as in 0/2")
      ->capture_default_str()
      ->type_name("I/N");
  command->add_option("--join", flags->join, "where the server of shard 0 listens; for the others")
      ->type_name("ADDRESS");
  command->add_option("--workers", flags->workers, "threads that update the parameters; by default cores - 1")
      ->check(CLI::Range(0u, 256u));
  command->add_option("--deadline", flags->deadline, "give up when shard 0's server does not answer for so long")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 1e6))
      ->type_name("SECONDS");
  command->add_option("--history", flags->history, "its part of every event of the protocol, for `yoke check`")
      ->type_name("FILE");
  command->add_flag("--quiet", flags->quiet, "say nothing");
  command->callback([flags, &status] { status = run_server(*flags); });
}

}  // namespace yoke::cli
