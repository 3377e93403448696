// Asks a running job how it goes.
#pragma once

#include <string>

#include "base/time.h"
#include "security/credentials.h"
#include "wire/job.h"
#include "yoke/error.h"

namespace yoke::cluster {

// The account of the first server, which listens at `address`; where it hosts containers, of the job in this one.
Result<wire::Account> ask_account(const std::string& address, const std::string& container,
                                  const security::Credentials& credentials, Duration deadline);

}  // namespace yoke::cluster
