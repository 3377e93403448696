#include "security/tls.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <new>

#include "security/certificates.h"
#include "security/pem.h"

namespace yoke::security {
namespace {

constexpr long kMostOfAChain = 8 << 10;  // bytes of certificates from a peer

bool is_ip(const std::string& text) {
  in6_addr place;
  return inet_pton(AF_INET, text.c_str(), &place) == 1 || inet_pton(AF_INET6, text.c_str(), &place) == 1;
}

}  // namespace

Result<Tls::Ptr> Tls::from_folder(const std::string& folder) {
  const auto ca = read_pem(folder + "/ca.pem", false);
  if (!ca) return ca.error();
  const auto certificate = read_pem(folder + "/cert.pem", false);
  if (!certificate) return certificate.error();
  auto key = read_pem(folder + "/key.pem", true);
  if (!key) return key.error();
  auto tls = from_pem(*ca, *certificate, *key, folder);
  wipe(*key);
  return tls;
}

Result<Tls::Ptr> Tls::from_pem(const std::string& ca, const std::string& certificate, const std::string& key,
                               const std::string& where) {
  const auto wrong = [&](const char* file, const std::string& what) {
    return Error{Code::invalid_argument,
                 fmt::format("{}/{}: {}; `yoke cert new` makes such a folder, `yoke cert show` looks at one", where,
                             file, what)};
  };
  auto* context = SSL_CTX_new(TLS_method());
  if (!context) throw std::bad_alloc();
  Ptr tls(new Tls(context));
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  // No tickets, no sessions that are taken up again: every connection proves itself anew.
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_cert_list(context, kMostOfAChain);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);

  const auto authorities = certificates_from(ca);
  if (!authorities) return wrong("ca.pem", authorities.error().message);
  for (const auto& one : *authorities) X509_STORE_add_cert(SSL_CTX_get_cert_store(context), one.get());
  const auto own = certificate_from(certificate);
  if (!own) return wrong("cert.pem", own.error().message);
  if (SSL_CTX_use_certificate(context, own->get()) != 1) return wrong("cert.pem", openssl_reason());
  const auto own_key = key_from(key);
  if (!own_key) return wrong("key.pem", own_key.error().message);
  if (SSL_CTX_use_PrivateKey(context, own_key->get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    return wrong("key.pem", "it does not belong to cert.pem: " + openssl_reason());
  return tls;
}

Tls::~Tls() { SSL_CTX_free(context_); }

ssl_st* Tls::answer() const {
  auto* end = SSL_new(context_);
  if (end) SSL_set_accept_state(end);
  return end;
}

ssl_st* Tls::dial(const std::string& name) const {
  auto* end = SSL_new(context_);
  if (!end) return nullptr;
  SSL_set_connect_state(end);
  SSL_set_hostflags(end, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool named = is_ip(name) ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(end), name.c_str()) == 1
                                 : SSL_set1_host(end, name.c_str()) == 1 &&
                                       SSL_set_tlsext_host_name(end, const_cast<char*>(name.c_str())) == 1;
  if (named) return end;
  SSL_free(end);
  return nullptr;
}

std::string tls_problem(ssl_st* end) {
  const auto verified = SSL_get_verify_result(end);
  if (verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    ERR_clear_error();
    return "its certificate is for another name: make one for the name that is dialled (`yoke cert new`), or say "
           "--peer-name";
  }
  if (verified != X509_V_OK) {
    ERR_clear_error();
    return fmt::format("its certificate is not believed: {}", X509_verify_cert_error_string(verified));
  }
  return "TLS: " + openssl_reason();
}

}  // namespace yoke::security
