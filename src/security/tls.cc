#include "security/tls.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "security/certificates.h"

namespace yoke::security {
namespace {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* at) const {
    Free(at);
  }
};
using BioPtr = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using CertificatePtr = std::unique_ptr<X509, Freed<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

constexpr long kMostOfAChain = 8 << 10;  // bytes of certificates from a peer

BioPtr reader_of(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string last_error() {
  const auto code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code ? ERR_reason_error_string(code) : nullptr;
  return reason ? reason : "no reason is known";
}

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
  OPENSSL_cleanse(key->data(), key->size());
  return tls;
}

Result<Tls::Ptr> Tls::from_pem(const std::string& ca, const std::string& certificate, const std::string& key,
                               const std::string& where) {
  const auto wrong = [&](const std::string& what) {
    return Error{Code::invalid_argument,
                 fmt::format("{}: {} ({}); `yoke cert new` makes such a folder", where, what, last_error())};
  };
  auto* context = SSL_CTX_new(TLS_method());
  if (!context) return wrong("TLS cannot be set up");
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

  auto* store = SSL_CTX_get_cert_store(context);
  const auto authorities = reader_of(ca);
  int believed = 0;
  while (CertificatePtr one{PEM_read_bio_X509(authorities.get(), nullptr, nullptr, nullptr)})
    believed += X509_STORE_add_cert(store, one.get());
  ERR_clear_error();
  if (believed == 0) return wrong("ca.pem has no certificate");
  const auto own_text = reader_of(certificate);
  const CertificatePtr own(PEM_read_bio_X509(own_text.get(), nullptr, nullptr, nullptr));
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) return wrong("cert.pem has no certificate");
  const auto key_text = reader_of(key);
  const KeyPtr own_key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  if (!own_key) return wrong("key.pem has no private key");
  if (SSL_CTX_use_PrivateKey(context, own_key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    return wrong("key.pem does not belong to cert.pem");
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
  return "TLS: " + last_error();
}

}  // namespace yoke::security
