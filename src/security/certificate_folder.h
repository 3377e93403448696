// The folder of one member of a job: ca.pem, cert.pem, key.pem; and that of the authority, with ca-key.pem.
#pragma once

#include <string>

#include "security/certificates.h"
#include "yoke/error.h"

namespace yoke::security {

struct Authority {
  Certificate certificate;
  bool is_new = false;
};

// The authority that is at home in the folder, or a new one, which is not yet written. An error where there is ca.pem
// without its key: certificates of a second authority would not be believed by the members of the first.
Result<Authority> authority_in(const std::string& folder);

// Makes the folder (mode 0700) where there is none, and writes ca.pem (when it is not there yet; one of another
// authority is an error), key.pem and cert.pem, which must not be there.
Status write_member(const std::string& folder, const std::string& authority, const Certificate& member);
// ca.pem and ca-key.pem, likewise.
Status write_authority(const std::string& folder, const Certificate& authority);

// Whether a member's certificate is there already, which write_member would refuse: to be asked before work is done.
Status check_no_member(const std::string& folder);

}  // namespace yoke::security
