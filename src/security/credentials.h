// What a process shows to others, and demands of them.
#pragma once

#include <string>

#include "security/secret.h"
#include "security/tls.h"
#include "yoke/options.h"

namespace yoke::security {

struct Credentials {
  Secret::Ptr secret;     // null: none
  Tls::Ptr tls;           // null: none
  std::string peer_name;  // the name that others' certificates must have; empty: the host that was dialled
  bool insecure = false;  // routable addresses without either of the two are wanted

  // Fit for an address that others than this host reach.
  bool enough() const { return insecure || (secret && tls); }
};

// The names of what stands for the flags in the environment.
inline constexpr char kSecretFileVariable[] = "YOKE_SECRET_FILE";
inline constexpr char kSecretVariable[] = "YOKE_SECRET";
inline constexpr char kCertsVariable[] = "YOKE_CERTS";
inline constexpr char kPeerNameVariable[] = "YOKE_PEER_NAME";
inline constexpr char kInsecureVariable[] = "YOKE_INSECURE";

// As the flags say, and where they are silent, the environment. A secret that lies in the environment itself is wiped
// there: it can be found once, and is remembered for the rest of the process.
Result<Credentials> find_credentials(const Security& flags);

}  // namespace yoke::security
