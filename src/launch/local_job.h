// A job on this machine from its first process to its last: servers, then replicas, then nobody.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/supervisor.h"
#include "yoke/error.h"

namespace yoke::launch {

struct LocalJob {
  std::uint32_t servers = 1;  // 0: the replicas host the parameters themselves
  std::uint32_t replicas = 1;
  // The words that start server `i`, told where the first one listens (""; for the first itself).
  std::function<ChildSpec(std::uint32_t i, const std::string& join)> server;
  // The words that start replica `i`. Without servers, `join` is where replica 0 will listen.
  std::function<ChildSpec(std::uint32_t i, const std::string& join)> replica;
  std::string join;                   // without servers
  std::string stopping = "stopping";  // said once when the launcher is told to stop
  std::chrono::milliseconds start_within{30'000};
};

struct JobEnd {
  std::vector<std::optional<Ending>> replicas;  // by number
  bool served = true;                           // no server was lost
  int signal = 0;                               // what the launcher was sent; 0: nothing
};

// Runs it to its end. Ctrl-C and SIGTERM are passed on to the replicas, which stop in good order; a second one, or a
// server that is lost, ends all of it. A start that fails leaves nothing behind. `say` gets what a person should know.
Result<JobEnd> run_local_job(Supervisor& supervisor, const LocalJob& job,
                             const std::function<void(const std::string&)>& say);

}  // namespace yoke::launch
