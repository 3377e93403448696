#include "security/certificates.h"

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/x509v3.h>

#include <ctime>

#include "security/alternative_names.h"
#include "security/pem.h"

namespace yoke::security {
namespace {

constexpr int kSerialBits = 127;  // RFC 5280 allows 20 bytes; this is positive, and never met twice
constexpr long kClocksDiffer = 3600;
constexpr unsigned kMostDays = 36500;
constexpr std::size_t kLongestCommonName = 64;  // RFC 5280, ub-common-name

Error failed(const char* what) {
  return {Code::unsupported, fmt::format("a certificate could not be made ({}: {})", what, openssl_reason())};
}

bool set_serial(X509* certificate) {
  const Handle<BIGNUM, BN_free> number(BN_new());
  return number && BN_priv_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_days(X509* certificate, unsigned days, const X509* authority) {
  auto* end = X509_getm_notAfter(certificate);
  std::time_t now = std::time(nullptr);
  if (!X509_time_adj_ex(X509_getm_notBefore(certificate), 0, -kClocksDiffer, &now) ||
      !X509_time_adj_ex(end, static_cast<int>(days), 0, &now))
    return false;
  if (authority && ASN1_TIME_compare(end, X509_get0_notAfter(authority)) > 0)
    return X509_set1_notAfter(certificate, X509_get0_notAfter(authority)) == 1;
  return true;
}

bool set_name(X509* certificate, const std::string& common_name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common_name.data()),
                                    static_cast<int>(common_name.size()), -1, 0) == 1;
}

// Values are ours, and constant: what users name never goes through OpenSSL's little language.
bool add_extension(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Handle<X509_EXTENSION, X509_EXTENSION_free> extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

Status check_days(unsigned days) {
  if (days >= 1 && days <= kMostDays) return {};
  return Error{Code::invalid_argument,
               fmt::format("a certificate is valid for 1 to {} days, not for {}", kMostDays, days)};
}

struct Draft {
  KeyHandle key;
  X509Handle certificate;
};

Result<Draft> draft(const std::string& common_name, unsigned days, const X509* authority) {
  Draft made{KeyHandle(EVP_EC_gen("P-256")), X509Handle(X509_new())};
  auto* x509 = made.certificate.get();
  if (!made.key || !x509 || X509_set_version(x509, X509_VERSION_3) != 1 || !set_serial(x509)) return failed("key");
  if (!set_days(x509, days, authority) || !set_name(x509, common_name) || X509_set_pubkey(x509, made.key.get()) != 1)
    return failed("subject");
  const auto* issuer = X509_get_subject_name(authority ? authority : x509);
  if (X509_set_issuer_name(x509, issuer) != 1) return failed("issuer");
  return made;
}

Result<Certificate> signed_by(EVP_PKEY* authority, const Draft& draft) {
  if (X509_sign(draft.certificate.get(), authority, EVP_sha256()) == 0) return failed("signature");
  return to_pem(draft.certificate.get(), draft.key.get());
}

// Whether it may sign for others, and still may.
Status check_authority(X509* certificate, const EVP_PKEY* key) {
  const auto wrong = [](const char* why) { return Error{Code::corrupt, why}; };
  if (X509_check_ca(certificate) != 1) return wrong("ca.pem is not the certificate of an authority");
  if (X509_check_private_key(certificate, key) != 1) return wrong("ca-key.pem is not the key of ca.pem");
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
    return wrong("the authority's own days are over: make a new one in a new folder, and new certificates for all");
  return {};
}

}  // namespace

Result<Certificate> new_authority(const std::string& name, unsigned days) {
  if (const auto good = check_days(days); !good) return good.error();
  if (name.empty() || name.size() > kLongestCommonName)
    return Error{Code::invalid_argument, fmt::format("an authority's name has 1 to {} bytes", kLongestCommonName)};
  const auto made = draft(name, days, nullptr);
  if (!made) return made.error();
  auto* x509 = made->certificate.get();
  const bool good = add_extension(x509, x509, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                    add_extension(x509, x509, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                    add_extension(x509, x509, NID_subject_key_identifier, "hash") &&
                    add_extension(x509, x509, NID_authority_key_identifier, "keyid:always");
  if (!good) return failed("extensions");
  return signed_by(made->key.get(), *made);
}

Result<Certificate> issue(const Certificate& authority, const Subject& subject) {
  if (const auto good = check_days(subject.days); !good) return good.error();
  const auto names = alternative_names(subject.names);
  if (!names) return names.error();
  const auto issuer = certificate_from(authority.certificate);
  if (!issuer) return issuer.error();
  const auto issuer_key = key_from(authority.key);
  if (!issuer_key) return issuer_key.error();
  if (const auto good = check_authority(issuer->get(), issuer_key->get()); !good) return good.error();

  const auto& first = subject.names.front();
  const auto made = draft(first.size() <= kLongestCommonName ? first : "yoke", subject.days, issuer->get());
  if (!made) return made.error();
  auto* x509 = made->certificate.get();
  const bool good =
      add_extension(x509, issuer->get(), NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(x509, issuer->get(), NID_key_usage, "critical,digitalSignature") &&
      add_extension(x509, issuer->get(), NID_ext_key_usage, subject.serves ? "serverAuth,clientAuth" : "clientAuth") &&
      add_extension(x509, issuer->get(), NID_subject_key_identifier, "hash") &&
      add_extension(x509, issuer->get(), NID_authority_key_identifier, "keyid:always") &&
      X509_add1_ext_i2d(x509, NID_subject_alt_name, names->get(), 0, X509V3_ADD_DEFAULT) == 1;
  if (!good) return failed("extensions");
  return signed_by(issuer_key->get(), *made);
}

}  // namespace yoke::security
