// A secret for each container, so that who may use one may not use the others.
#pragma once

#include <functional>
#include <string>

#include "security/secret.h"

namespace yoke::cluster {

using Say = std::function<void(const std::string&)>;
using SecretFor = std::function<Result<security::Secret::Ptr>(const std::string& introduction)>;

// The secret that goes with an introduction: the one in the folder's file of the container's name, else `own`. The
// folder is read now, and each file again when it has changed. A file without a secret closes its own container and no
// other; `say` hears why, once.
Result<SecretFor> secrets_by_container(const std::string& folder, security::Secret::Ptr own, Say say);

}  // namespace yoke::cluster
