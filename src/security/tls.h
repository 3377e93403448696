// What this process shows in TLS, and whom it believes there: TLS 1.3 alone, both sides with a certificate of the same
// authority. Behind it is one context of OpenSSL, for dialling and for answering.
#pragma once

#include <memory>
#include <string>

#include "yoke/error.h"

struct ssl_st;
struct ssl_ctx_st;

namespace yoke::security {

class Tls {
 public:
  using Ptr = std::shared_ptr<const Tls>;

  // From a folder with ca.pem, cert.pem and key.pem (certificates.h).
  static Result<Ptr> from_folder(const std::string& folder);
  static Result<Ptr> from_pem(const std::string& ca, const std::string& certificate, const std::string& key,
                              const std::string& where);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // One end of a connection. Whoever dials says which name or address the other side's certificate must have. The
  // caller frees it with SSL_free. Null: there is no memory for it.
  ssl_st* dial(const std::string& name) const;
  ssl_st* answer() const;

 private:
  explicit Tls(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* context_;
};

// Why the last call failed on this end, in words that a person can act on. Empties OpenSSL's list of errors.
std::string tls_problem(ssl_st* end);

}  // namespace yoke::security
