// The names under which a member of a job is reached, as a certificate carries them.
#pragma once

#include <openssl/x509v3.h>

#include <string>
#include <vector>

#include "security/openssl_handles.h"
#include "yoke/error.h"

namespace yoke::security {

using NamesHandle = Handle<GENERAL_NAMES, GENERAL_NAMES_free>;

// IP addresses as such, the rest as host names; `*.` may stand for the first part of a name that has two more. What is
// neither is an error.
Result<NamesHandle> alternative_names(const std::vector<std::string>& names);

// As text again, of those kinds.
std::vector<std::string> names_in(const X509* certificate);

}  // namespace yoke::security
