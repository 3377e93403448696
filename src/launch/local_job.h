// A job, or one rank's part of it, from its first process to its last: servers, then replicas, then nobody.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/restart.h"
#include "launch/roles.h"
#include "launch/supervisor.h"
#include "yoke/error.h"

namespace yoke::launch {

// How long the launcher waits for what should happen by itself.
struct Patience {
  std::chrono::milliseconds start{30'000};            // every server says where it listens
  std::chrono::milliseconds servers_end{5'000};       // after the last replica
  std::chrono::milliseconds servers_fail{1'000};      // where all replicas have failed, perhaps before they came
  std::chrono::milliseconds replicas_notice{15'000};  // that a server, or a slice, is gone
  std::chrono::milliseconds replicas_write{60'000};   // after the servers have gone in good order
  std::chrono::milliseconds look{2'000};              // meanwhile, for one that is stopped
  std::chrono::milliseconds stop{5'000};              // between being told to stop and being killed
};

struct LocalJob {
  Part part;              // what is started here
  bool mirrored = false;  // the replicas host the parameters themselves
  // Servers do that somebody else has started, and a replica ends well only when the job is over.
  bool ends_together = false;
  bool elsewhere = false;  // other launchers run other parts of it
  // The words that start server `i`, told where the first one listens (""; for the first itself).
  std::function<ChildSpec(std::uint32_t i, const std::string& join)> server;
  // The words that start the coordinator, who says what the servers host and where they are: then they and the replicas
  // are told where it listens, and servers and coordinator that are lost are started again. Told where it listened
  // before (""; the first time). Empty: there is none.
  std::function<ChildSpec(const std::string& listened)> coordinator;
  // The words that start replica `i`. Under mirrored, `join` is where replica 0 will listen.
  std::function<ChildSpec(std::uint32_t i, const std::string& join)> replica;
  std::string join;  // where the first server listens, unless that is started here; under mirrored, replica 0
  // Told where the first server listens, when that is started here; may be empty.
  std::function<Status(const std::string& join)> announce;
  std::string stopping = "stopping";  // said once when the launcher is told to stop
  bool keeps = false;                 // checkpoints: SIGUSR2 asks the first server for one; see below
  RestartRule restarts;               // of replicas
  RestartRule helpers{.times = 100,
                      .pause = std::chrono::milliseconds(200),
                      .longest = std::chrono::seconds(5)};  // of servers, and of the coordinator
  Patience patience;
};

// A replica that did not take part to the end: a signal ended it, or its status is one of those that say so (1 to 4).
// The others are for a program of one's own to choose.
constexpr bool failed(const Ending& ending) { return ending.signal != 0 || (ending.status >= 1 && ending.status <= 4); }
// It was taken out in good order: nothing is wrong with it, and the others go on.
inline constexpr int kDrainedStatus = 7;
constexpr bool drained(const Ending& ending) { return ending.signal == 0 && ending.status == kDrainedStatus; }
// It could not even begin: wrong words, a file that is missing, too little memory. Nor will others.
constexpr bool never_began(const Ending& ending) {
  return ending.signal == 0 && ending.status >= 2 && ending.status <= 4;
}

// It had begun, and another life of it may do better.
constexpr bool lost(const Ending& ending) { return failed(ending) && !never_began(ending); }

struct JobEnd {
  std::vector<std::optional<Ending>> replicas;  // in the order of Part::replicas
  bool served = true;                           // no server was lost
  int signal = 0;                               // what the launcher was sent; 0: nothing
  // Who failed before anybody was told to stop, in that order: "replica 3 was ended by SIGKILL (process 4711 on node7)
  // at 14:03:59"; with a status, also what it said last.
  std::vector<std::string> losses;
};

// Runs it to its end. Ctrl-C and SIGTERM are passed on to the replicas, which stop in good order; a second one, or a
// server that is lost, ends all of it. A start that fails leaves nothing behind. `say` gets what a person should know.
//
// SIGUSR2 is passed on to the first server alone, which makes a checkpoint; under mirrored, by the launcher that has
// replica 0, to the lowest of its replicas that is there.
//
// A replica that is lost is started again as LocalJob::restarts says, under its number: not once the launcher is told
// to stop, a replica has ended well (the job is over) or a server has ended. While one is to be started again the job
// goes on, even if nobody runs. Under mirrored the state of the job is in the replicas: where none is left of whom one
// that comes again could ask for it, nobody is started again, and the job is lost.
//
// Where there are other parts, servers go on when the replicas here were lost, and end with the job.
Result<JobEnd> run_local_job(Supervisor& supervisor, const LocalJob& job,
                             const std::function<void(const std::string&)>& say);

}  // namespace yoke::launch
