// Where a training stands at one version (wire/messages.h).
#pragma once

#include "wire/messages.h"

namespace yoke::core {

using wire::LedgerStanding;
using wire::Standing;

}  // namespace yoke::core
