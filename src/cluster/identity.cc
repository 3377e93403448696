#include "cluster/identity.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "yoke/version.h"

namespace yoke::cluster {

wire::Identity this_process(wire::Role role, std::uint32_t id) {
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  wire::Identity identity;
  identity.role = role;
  identity.id = id;
  // Of two processes that begin in the same instant none is taken for the other.
  identity.incarnation = static_cast<wire::Incarnation>(std::chrono::duration_cast<std::chrono::microseconds>(
                                                            std::chrono::system_clock::now().time_since_epoch())
                                                            .count())
                             << 8 |
                         (static_cast<wire::Incarnation>(getpid()) & 0xff);
  identity.version = kVersion;
  identity.host = host;
  identity.pid = static_cast<std::uint64_t>(getpid());
  return identity;
}

std::string where_is(const wire::Identity& identity) {
  auto host = identity.host;  // a peer's word, which goes to terminals and logs
  std::replace_if(
      host.begin(), host.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return fmt::format("{}, process {}", host, identity.pid);
}

std::string in_words(const wire::Identity& identity) {
  if (identity.role == wire::Role::watcher) return fmt::format("a watcher ({})", where_is(identity));
  if (identity.role == wire::Role::keeper) return fmt::format("a keeper ({})", where_is(identity));
  return fmt::format("{} {} ({})", identity.role == wire::Role::server ? "server" : "replica", identity.id,
                     where_is(identity));
}

}  // namespace yoke::cluster
