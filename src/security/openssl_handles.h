// OpenSSL's objects with an owner, and its reasons in words.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace yoke::security {

template <auto kFree>
struct FreeBy {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
template <class T, auto kFree>
using Handle = std::unique_ptr<T, FreeBy<kFree>>;

using BioHandle = Handle<BIO, BIO_free_all>;
using KeyHandle = Handle<EVP_PKEY, EVP_PKEY_free>;
using X509Handle = Handle<X509, X509_free>;

// Why the last call on this thread failed; takes all that OpenSSL has noted, so that no later call is blamed for it.
inline std::string openssl_reason() {
  const auto code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code ? ERR_reason_error_string(code) : nullptr;
  return reason ? reason : "OpenSSL gives no reason";
}

}  // namespace yoke::security
