// A member's connections to the servers, as its clusters use them. One lock for all that the loop's thread and the
// replica's thread share; waits are on one condition, and have a deadline of silence.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cluster/member.h"
#include "transport/connection.h"

namespace yoke::cluster {

class RemoteCluster;

bool has_one_core();

struct Links {
  struct Link {
    transport::ConnectionPtr connection;
    bool up = false;
    bool down = false;
    bool leaving = false;     // it has said that it goes: the job is over, and the first server tells why
    bool by_pointer = false;  // its payloads lie where they can be read: shared memory, or this process's own
    std::string name;
    std::optional<wire::JobMessage> announced;
    bool sinking = false;  // the announced payload goes straight into the replica's places
  };

  MemberOptions options;
  transport::Loop* loop = nullptr;
  std::shared_ptr<transport::Arena> arena;
  wire::Life life;
  wire::Incarnation welcomed = 0;  // the last life that the first server took in
  std::uint64_t view = 0;          // of the servers, as a coordinator counts

  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Link> servers;   // by shard
  std::optional<Error> fatal;  // why nothing more can be done
  // The way to a server is lost, and the job may be going on without this replica: it can come back, with a new life.
  struct Lost {
    Error error;
    Duration patience{};  // how long it is worth trying
  };
  std::optional<Lost> lost;
  std::atomic<bool> over{false};          // either of them is set
  std::optional<Error> silent;            // a wait has ended with its deadline
  std::atomic<std::uint64_t> changes{0};  // grows with every event that somebody may wait for
  std::uint64_t values_heard = 0;         // and this with values that went to their places: signs of life
  bool quiescing = false;                 // somebody waits for just that
  std::size_t sinks = 0;                  // payloads on their way straight into the replica's places
  std::optional<wire::Welcome> welcome;
  std::optional<wire::Account> account;
  bool chief = false;
  bool concluded = false;                            // somebody has drawn the conclusion
  std::map<std::uint32_t, RemoteCluster*> clusters;  // by network: those that hear
  std::atomic<std::uint64_t> progress{0};            // told with heartbeats
  std::atomic<std::uint64_t> clock{0};
  const bool one_core = has_one_core();              // all threads of this process share it
  Duration looks_on = std::chrono::milliseconds(2);  // before it sleeps; the replica's thread's

  // For the chief, until its own thread takes them: what it does with them may take its time.
  static constexpr std::size_t kMostNews = 100'000;
  std::deque<wire::StepNews> news;

  using Lock = std::unique_lock<std::mutex>;

  Time now() const;
  // From any thread, in order.
  void send(wire::ShardId server, std::string control, transport::Bytes payload = {},
            transport::Connection::Completion done = {});
  struct Outgoing {
    wire::ShardId server = 0;
    std::string control;
    transport::Bytes payload;
  };
  // All of them at once; `quietly`: with the next that are not, or with `loop->wake()`.
  void send(std::vector<Outgoing> messages, bool quietly);
  // Waits until it is so, or nothing can come of it any more (`fatal`, `lost`), or nothing at all has happened for the
  // deadline. `meanwhile` is done before it sleeps or looks on; true: there may be more of it to do.
  Status wait(
      Lock& lock, const std::string& doing, const std::function<bool()>& until,
      const std::function<bool()>& meanwhile = [] { return false; });
  void hear_now(Lock& lock, transport::Loop::Visit& visit);
  bool look_on(Lock& lock, transport::Loop::Visit& visit, std::uint64_t seen);
  // Waits until the loop's thread writes to the replica's places no more, nor reads from them (`reading`). After a
  // failure the connections are closed for it.
  void quiesce(
      Lock& lock, bool failed, const std::function<bool()>& reading = [] { return false; });
  // After `lost`, in the replica's thread, when the loop's thread touches nothing of the replica's: comes back as a new
  // life, on new connections. Every cluster has forgotten what it was doing then, and has said hello again.
  std::function<Status(Lock&)> rejoin;
  // The replicas host the parameters, and form the job anew among themselves when one is lost.
  bool forms = false;
  // Then: this version of this network is committed. In the loop's thread, under the lock.
  std::function<void(std::uint32_t network, wire::Version version)> committed;
  // The account of the first server; waits a while.
  Result<wire::Account> ask_account(Lock& lock, Duration deadline);
};

}  // namespace yoke::cluster
