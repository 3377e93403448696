// Where a replica that hosts a part of the parameters itself listens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::launch {

// Replica 0 at the address that all join; the others beside it: a socket next to that of replica 0, or any free port of
// the address with which this host reaches it.
Result<std::string> own_address(const std::string& join, std::uint32_t replica);

// The same for one that comes to a job that goes on, in which none of these addresses is its own: beside the first of
// them that can be reached. `replica`: which one it was there before; none: it has no number yet.
Result<std::string> newcomers_address(const std::vector<std::string>& members, std::optional<std::uint32_t> replica);

// The addresses in "A,B,C", at least one. A comma behind which there is no address belongs to the path before it.
Result<std::vector<std::string>> split_addresses(const std::string& list);

// So many ports of this host's address that are free now, for replicas to listen on: others have to know them before
// they do.
Result<std::vector<std::string>> free_addresses(const std::string& host, std::size_t count);

// Is the host of this address known by now? In Kubernetes a pod's name is known some time after the pod has begun.
bool is_known(const std::string& address);

// The address at which other hosts reach this one, as far as it can tell: that of its name, unless it is a loopback
// one; else that of its first interface that is up and routable; else 127.0.0.1.
std::string reachable_host();

}  // namespace yoke::launch
