// This process's part in a job of many processes: one replica, its connections to the servers, and the loop thread that
// keeps them. Where the replicas host the parameters themselves (mirrored), it hosts a server besides.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "history/recorder.h"
#include "security/credentials.h"
#include "wire/job.h"
#include "yoke/error.h"

namespace yoke::cluster {

struct MemberOptions {
  std::string join;                      // where the first server listens
  std::string coordinator;               // who knows where that is; empty: nobody, `join` says it
  std::string container;                 // which container there; empty: the job has no name
  wire::About about;                     // what the container is to keep about the model
  std::optional<std::uint32_t> replica;  // which one this is; none: the first server says
  std::string listen;                    // it hosts a server too, here ("" : not), and `join` may be itself
  std::uint32_t hosts_shard = 0;         // then of this shard ...
  std::uint32_t hosts_of = 1;            // ... of so many
  // Where members of a job that goes on may be found; not empty: it comes to such a job (mirrored).
  std::vector<std::string> members;
  wire::JobTerms terms;
  Duration deadline = std::chrono::seconds(60);  // of a wait in which nothing at all happens
  Checkpoints checkpoints;                       // where it hosts a server
  std::function<void(const std::string&)> say;   // likewise: its news
  std::shared_ptr<history::Recorder> recorder;
  security::Credentials credentials;
};

class Member {
 public:
  // Connects and is welcomed; waits for the servers, at most the deadline.
  static Result<std::unique_ptr<Member>> join(MemberOptions options);
  ~Member();

  std::uint32_t replica() const;
  // The `network`-th network that the replicas attach: the servers take it in, or say what differs. It must not outlive
  // the member.
  Result<std::unique_ptr<Cluster>> open(std::uint32_t network, const Layout& layout);
  // Takes part no more: what is under way is sent, then the connections are closed. Clusters stay readable.
  // `well`: by its own decision, not because something failed.
  void leave(const std::string& reason, bool well);

 private:
  class Impl;
  explicit Member(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace yoke::cluster
