// Where a replica that hosts a part of the parameters itself listens.
#pragma once

#include <cstdint>
#include <string>

#include "yoke/error.h"

namespace yoke::launch {

// Replica 0 at the address that all join; the others beside it: a socket next to that of replica 0, or any free port of
// the address with which this host reaches it.
Result<std::string> own_address(const std::string& join, std::uint32_t replica);

// A port of the loopback that is free now, for replica 0 to listen on: everybody has to know it before it does.
Result<std::string> free_loopback_address();

}  // namespace yoke::launch
