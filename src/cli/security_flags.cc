#include "cli/security_flags.h"

#include <cstdlib>

#include "security/credentials.h"

namespace yoke::cli {

void add_security_flags(CLI::App& command, Security& security) {
  const std::string group = "Security";
  command
      .add_option(kSecurityFlags[0], security.secret_file,
                  "what everybody of the job knows; `yoke secret new` makes it (or YOKE_SECRET_FILE, YOKE_SECRET)")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option(kSecurityFlags[1], security.certificates,
                  "TLS on TCP, with the certificates in this folder; `yoke cert new` makes it (or YOKE_CERTS)")
      ->type_name("DIR")
      ->group(group);
  command
      .add_option(kSecurityFlags[2], security.peer_name,
                  "the name that the others' certificates must have; by default the host that is dialled")
      ->type_name("NAME")
      ->group(group);
  command
      .add_flag(kInsecureFlag, security.insecure,
                "addresses that other hosts reach, without the two: whoever reaches them can take part")
      ->group(group);
}

Status pass_on(const Security& security, const std::string& folder) {
  const auto set = [](const char* name, const std::string& value) {
    if (!value.empty()) setenv(name, value.c_str(), 1);
  };
  set(security::kCertsVariable, security.certificates);
  set(security::kPeerNameVariable, security.peer_name);
  if (security.insecure) set(security::kInsecureVariable, "1");
  set(security::kSecretFileVariable, security.secret_file);
  const auto found = security::find_credentials(security);  // and so what is wrong is said once, here
  if (!found) return found.error();
  if (const char* file = std::getenv(security::kSecretFileVariable); !found->secret || (file && *file)) return {};
  const auto file = folder + "/secret";
  if (auto written = found->secret->write(file); !written) return written;
  set(security::kSecretFileVariable, file);
  return {};
}

}  // namespace yoke::cli
