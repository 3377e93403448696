// Messages and machines in words, for traces.
#pragma once

#include <string>

#include "wire/messages.h"

namespace yoke::sim {

std::string describe(const wire::Address& address);
std::string describe(const wire::Message& message);

}  // namespace yoke::sim
