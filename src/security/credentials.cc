#include "security/credentials.h"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>

namespace yoke::security {
namespace {

std::string or_variable(const std::string& flag, const char* name) {
  if (!flag.empty()) return flag;
  const char* value = std::getenv(name);
  return value ? value : "";
}

Result<Secret::Ptr> secret_of(const std::string& file) {
  static std::mutex mutex;
  static Secret::Ptr remembered;
  const std::lock_guard lock(mutex);
  // Whether it is used or not, it does not stay where children would inherit it.
  if (char* value = std::getenv(kSecretVariable); value && *value) {
    auto secret = Secret::from_environment(value, kSecretVariable);
    unsetenv(kSecretVariable);
    if (secret) remembered = *secret;
    if (!secret && file.empty()) return secret.error();
  }
  if (!file.empty()) return Secret::from_file(file);
  return remembered;
}

}  // namespace

Result<Credentials> find_credentials(const Security& flags) {
  Credentials found;
  auto secret = secret_of(or_variable(flags.secret_file, kSecretFileVariable));
  if (!secret) return secret.error();
  found.secret = std::move(*secret);
  if (const auto folder = or_variable(flags.certificates, kCertsVariable); !folder.empty()) {
    auto tls = Tls::from_folder(folder);
    if (!tls) return tls.error();
    found.tls = std::move(*tls);
  }
  found.peer_name = or_variable(flags.peer_name, kPeerNameVariable);
  if (constexpr std::size_t kMost = 253; found.peer_name.size() > kMost)
    return Error{Code::invalid_argument, fmt::format("--peer-name: a name has at most {} characters", kMost)};
  found.insecure = flags.insecure || or_variable("", kInsecureVariable) == "1";
  return found;
}

}  // namespace yoke::security
