#pragma once

#include <string>

#include "base/time.h"
#include "wire/messages.h"
#include "yoke/error.h"

namespace yoke::cluster {

// Nothing at all has happened for the deadline while a replica waited for somebody.
Error silent_for(Duration deadline, wire::ReplicaId replica, const std::string& doing, const std::string& whom);

}  // namespace yoke::cluster
