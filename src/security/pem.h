// Certificates and keys between text and OpenSSL's objects. Private text leaves no copies behind.
#pragma once

#include <string>
#include <vector>

#include "security/certificates.h"
#include "security/openssl_handles.h"
#include "yoke/error.h"

namespace yoke::security {

Result<Certificate> to_pem(X509* certificate, EVP_PKEY* key);
// All of the text, of which there is at least one: while an authority is being replaced, ca.pem has the old and the
// new.
Result<std::vector<X509Handle>> certificates_from(const std::string& text);
// The first of them.
Result<X509Handle> certificate_from(const std::string& text);
// One without a passphrase: nobody is there to type it.
Result<KeyHandle> key_from(const std::string& text);

}  // namespace yoke::security
