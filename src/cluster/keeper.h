// Looks after servers from outside: what `yoke containers`, `yoke snapshot`, `yoke checkpoint` and `yoke drain` do.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "security/credentials.h"
#include "wire/job.h"
#include "yoke/error.h"

namespace yoke::cluster {

// One network of a container, as it was at one version on all servers.
struct NetworkSnapshot {
  wire::Version version = 0;
  Layout layout;
  wire::About about;
  std::vector<std::vector<float>> values;  // by slot
};

struct KeeperOptions {
  std::string at;         // where the first server listens
  std::string container;  // what it is about
  std::string keeper_of;  // with the secret of this container alone; empty: with the servers' own
  security::Credentials credentials;
  Duration deadline = std::chrono::seconds(30);  // of a wait in which nothing at all happens
};

Result<std::vector<wire::ContainerAccount>> list_containers(const KeeperOptions& options);
// Saves or removes options.container, or stops the servers.
Status give_order(const KeeperOptions& options, wire::Order::Kind kind, bool force = false);
// Of options.container. Every network of it.
Result<std::vector<NetworkSnapshot>> take_snapshot(const KeeperOptions& options);

// These are of the job whose first server listens at `address`; where it hosts containers, of the job in this one. The
// deadline is that of a wait in which nothing at all happens. Code::refused: it could not be done, and why.

// Has a checkpoint made now; waits until it is whole on the disk, and answers in words which it is.
Result<std::string> order_checkpoint(const std::string& address, const std::string& container,
                                     const security::Credentials& credentials, Duration deadline);
// Has this replica leave in good order: what it works on is finished or given back. Waits until it has gone.
Status order_drain(const std::string& address, const std::string& container, std::uint32_t replica,
                   const security::Credentials& credentials, Duration deadline);

}  // namespace yoke::cluster
