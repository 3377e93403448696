// One question to a process of a job, and its answer. Blocks.
#pragma once

#include <string>

#include "base/time.h"
#include "security/credentials.h"
#include "wire/job.h"
#include "yoke/error.h"

namespace yoke::cluster {

// Dials, introduces itself as `identity`, asks, and waits for the first thing that is said; all of it at most as long
// as the deadline. A refusal is an error with its words.
Result<wire::JobMessage> inquire(const std::string& address, const wire::Identity& identity,
                                 const wire::JobMessage& question, const security::Credentials& credentials,
                                 Duration deadline);

}  // namespace yoke::cluster
