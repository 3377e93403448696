#include "cli/serving.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "cli/exit_status.h"
#include "cli/security_flags.h"
#include "cluster/view_server.h"
#include "launch/spawn.h"

namespace yoke::cli {
namespace {

Result<std::pair<std::uint32_t, std::uint32_t>> shard_of(const std::string& text) {
  unsigned shard = 0, of = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%u/%u%c", &shard, &of, &rest) != 2 || of == 0 || of > 4096 || shard >= of)
    return Error{Code::invalid_argument,
                 fmt::format("--shard {}: it is I/N, as in 0/2 and 1/2 for two servers (numbered from 0)", text)};
  return std::pair{shard, of};
}

// The signals that a server hears, as something the loop can wait for. Blocked before any thread is started.
int signals(bool launched) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  // Of a job that is launched, Ctrl-C is the launcher's business.
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGUSR2);  // asks for a checkpoint
  sigprocmask(SIG_BLOCK, &set, nullptr);
  if (launched) sigdelset(&set, SIGINT);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

void add_serving_flags(CLI::App& command, ServingFlags& flags) {
  command.add_option("--listen", flags.listen, "where replicas find it; port 0: any that is free")
      ->required()
      ->type_name("ADDRESS");
  command.add_option("--shard", flags.shard, "which part it hosts, of how many, as in 0/2")
      ->capture_default_str()
      ->type_name("I/N");
  command.add_option("--join", flags.join, "where the server of shard 0 listens; for the others")->type_name("ADDRESS");
  command
      .add_option("--workers", flags.workers,
                  "threads that update the parameters; by default as many as there are cores, at most 8")
      ->check(CLI::Range(0u, 256u));
  command.add_flag("--quiet", flags.quiet, "say nothing");
  add_security_flags(command, flags.security);
}

Result<cluster::HouseOptions> house_options(const ServingFlags& flags) {
  const auto shard = shard_of(flags.shard);
  if (!shard) return shard.error();
  cluster::HouseOptions options;
  options.shard = shard->first;
  options.shards = shard->second;
  options.listen = flags.listen;
  options.join = flags.join;
  if (options.shard > 0 && options.join.empty())
    return Error{Code::invalid_argument,
                 "--shard " + flags.shard + ": say with --join ADDRESS where the server of shard 0 listens"};
  if (options.shard == 0 && !options.join.empty())
    return Error{Code::invalid_argument, "the server of shard 0 is the first, and joins nobody: leave out --join"};
  auto credentials = security::find_credentials(flags.security);
  if (!credentials) return credentials.error();
  options.credentials = std::move(*credentials);
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  options.workers = flags.workers.value_or(std::min(8u, cores));
  if (!flags.quiet) options.say = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  return options;
}

Serving::Serving() : launched_(std::getenv(launch::kReadyVariable) != nullptr), fd_(signals(launched_)) {}

void Serving::on_signal(std::function<void(int)> call, std::function<void()> asked) {
  loop_.watch(fd_, EPOLLIN, [this, call = std::move(call), asked = std::move(asked)](std::uint32_t) {
    signalfd_siginfo info{};
    bool ends = false;
    while (read(fd_, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGUSR2) {
        if (asked) asked();
      } else {
        signal_ = static_cast<int>(info.ssi_signo);
        ends = true;
      }
    }
    if (ends) call(signal_);
  });
}

void Serving::ready(const std::string& address, const std::string& words) {
  if (launched_) {
    const int pipe = std::atoi(std::getenv(launch::kReadyVariable));
    const auto line = address + "\n";
    [[maybe_unused]] const auto written = write(pipe, line.data(), line.size());
    close(pipe);
  } else if (!words.empty()) {
    fmt::print("{}\n", words);
    std::fflush(stdout);
  }
}

void Serving::end(const Status& status) {
  end_ = status;
  loop_.stop();
}

int Serving::run(const std::function<void()>& close_all, bool stays) {
  loop_.run();
  close_all();
  // Servers with containers end well when they are told to, unless something could not be saved.
  if (!end_ && stays) return fail(end_.error());
  if (!end_) return signal_ == SIGTERM ? kTerminated : signal_ ? kInterrupted : fail(end_.error());
  return kDone;
}

int serve(cluster::HouseOptions options, bool quiet) {
  Serving serving;
  options.ended = [&](const Status& status) { serving.end(status); };
  auto house = cluster::House::open(serving.loop(), options);
  if (!house) return fail(house.error());
  serving.on_signal([&](int) { (*house)->stop(fmt::format("server {} was told to end", options.shard)); },
                    [&] { (*house)->checkpoint("SIGUSR2 asks for it"); });
  serving.ready((*house)->address(),
                quiet ? "" : fmt::format("shard {} of {} at {}", options.shard, options.shards, (*house)->address()));
  return serving.run([&] { house->reset(); }, options.containers.has_value());
}

int serve_as_told(cluster::HouseOptions options, const std::string& coordinator, bool quiet) {
  Serving serving;
  options.ended = [&](const Status& status) { serving.end(status); };
  auto server = cluster::ViewServer::open(serving.loop(), {options, coordinator});
  if (!server) return fail(server.error());
  serving.on_signal([&](int) { (*server)->stop("this server was told to end"); },
                    [&] { (*server)->checkpoint("SIGUSR2 asks for it"); });
  serving.ready((*server)->address(), quiet ? "" : fmt::format("server at {}", (*server)->address()));
  return serving.run([&] { server->reset(); });
}

}  // namespace yoke::cli
