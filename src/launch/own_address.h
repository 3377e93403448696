// Where a replica that hosts a part of the parameters itself listens.
#pragma once

#include <cstdint>
#include <string>

#include "yoke/error.h"

namespace yoke::launch {

// Replica 0 at the address that all join; the others beside it: a socket next to that of replica 0, or any free port of
// the address with which this host reaches it.
Result<std::string> own_address(const std::string& join, std::uint32_t replica);

// A port of this host's address that is free now, for replica 0 to listen on: everybody has to know it before it does.
Result<std::string> free_address(const std::string& host);

// Is the host of this address known by now? In Kubernetes a pod's name is known some time after the pod has begun.
bool is_known(const std::string& address);

// The address at which other hosts reach this one, as far as it can tell: that of its name, unless it is a loopback
// one; else that of its first interface that is up and routable; else 127.0.0.1.
std::string reachable_host();

}  // namespace yoke::launch
