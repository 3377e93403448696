// Asks a running job how it goes.
#pragma once

#include <string>

#include "base/time.h"
#include "security/credentials.h"
#include "wire/job.h"
#include "yoke/error.h"

namespace yoke::cluster {

// The account of the first server, which listens at `address`.
Result<wire::Account> ask_account(const std::string& address, const security::Credentials& credentials,
                                  Duration deadline);

}  // namespace yoke::cluster
