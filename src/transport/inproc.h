// A connection inside one process: the payload is handed over by its pointer.
#pragma once

#include <utility>

#include "transport/connection.h"

namespace yoke::transport {

// Both ends, each on its own loop (or both on one) with its own handler; each is told of the other's introduction.
std::pair<ConnectionPtr, ConnectionPtr> connect_inproc(Loop& first_loop, const Settings& first, Handler& first_handler,
                                                       Loop& second_loop, const Settings& second,
                                                       Handler& second_handler);

}  // namespace yoke::transport
