// Certificates and keys between text and OpenSSL's objects. Private text leaves no copies behind.
#pragma once

#include <string>

#include "security/certificates.h"
#include "security/openssl_handles.h"
#include "yoke/error.h"

namespace yoke::security {

Result<Certificate> to_pem(X509* certificate, EVP_PKEY* key);
// The first of the text.
Result<X509Handle> certificate_from(const std::string& text);
// One without a passphrase: nobody is there to type it.
Result<KeyHandle> key_from(const std::string& text);

}  // namespace yoke::security
