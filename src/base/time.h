// Time as the layers below the drivers see it: a number handed in, never asked for.
#pragma once

#include <chrono>

namespace yoke {

// Since an origin that only the driver knows.
using Time = std::chrono::nanoseconds;
using Duration = std::chrono::nanoseconds;

}  // namespace yoke
