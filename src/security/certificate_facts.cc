#include "security/certificate_facts.h"

#include <fmt/format.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <filesystem>
#include <utility>

#include "security/alternative_names.h"
#include "security/certificates.h"
#include "security/pem.h"

namespace yoke::security {
namespace {

struct Files {
  std::vector<X509Handle> authorities;
  X509Handle certificate;
  KeyHandle key;
};

template <class Parsed>
Result<Parsed> in_file(Result<Parsed> parsed, const std::string& path) {
  if (!parsed) return Error{parsed.error().code, fmt::format("{}: {}", path, parsed.error().message)};
  return parsed;
}

Result<std::vector<X509Handle>> read_certificates(const std::string& path) {
  const auto text = read_pem(path, false);
  if (!text) return text.error();
  return in_file(certificates_from(*text), path);
}

Result<KeyHandle> read_key(const std::string& path) {
  auto text = read_pem(path, true);
  if (!text) return text.error();
  auto key = in_file(key_from(*text), path);
  wipe(*text);
  return key;
}

Result<Files> read_files(const std::filesystem::path& folder) {
  auto authorities = read_certificates(folder / "ca.pem");
  if (!authorities) return authorities.error();
  auto certificate = read_certificates(folder / "cert.pem");
  if (!certificate) return certificate.error();
  auto key = read_key(folder / "key.pem");
  if (!key) return key.error();
  return Files{std::move(*authorities), std::move(certificate->front()), std::move(*key)};
}

std::string common_name(const X509_NAME* name) {
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  const auto* value = at < 0 ? nullptr : X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
  unsigned char* text = nullptr;
  const int size = value ? ASN1_STRING_to_UTF8(&text, value) : -1;
  const std::string found = size > 0 ? std::string(reinterpret_cast<char*>(text), static_cast<std::size_t>(size)) : "";
  OPENSSL_free(text);
  return found;
}

std::time_t time_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? ::timegm(&parts) : 0;
}

// Empty: it is believed as one who dials, or who is dialled.
std::string why_not_believed(const Files& files, int purpose) {
  const Handle<X509_STORE, X509_STORE_free> store(X509_STORE_new());
  const Handle<X509_STORE_CTX, X509_STORE_CTX_free> context(X509_STORE_CTX_new());
  bool ready = store && context;
  for (const auto& authority : files.authorities)
    ready = ready && X509_STORE_add_cert(store.get(), authority.get()) == 1;
  if (!ready || X509_STORE_CTX_init(context.get(), store.get(), files.certificate.get(), nullptr) != 1 ||
      X509_STORE_CTX_set_purpose(context.get(), purpose) != 1)
    return openssl_reason();
  if (X509_verify_cert(context.get()) == 1) return "";
  const int why = X509_STORE_CTX_get_error(context.get());
  ERR_clear_error();
  return X509_verify_cert_error_string(why);
}

std::vector<std::string> problems_of(const Files& files, const CertificateFacts& facts) {
  std::vector<std::string> problems;
  if (X509_check_private_key(files.certificate.get(), files.key.get()) != 1) {
    ERR_clear_error();
    problems.emplace_back("key.pem is not the key of cert.pem");
  }
  if (facts.names.empty()) problems.emplace_back("cert.pem names no host");
  if (!facts.dials && !facts.serves) problems.emplace_back("cert.pem is neither for servers nor for clients of TLS");
  const auto chain = why_not_believed(files, facts.dials ? X509_PURPOSE_SSL_CLIENT : X509_PURPOSE_SSL_SERVER);
  if (!chain.empty()) problems.push_back(fmt::format("who believes ca.pem does not believe cert.pem: {}", chain));
  return problems;
}

}  // namespace

Result<CertificateFacts> facts_of(const std::string& folder) {
  const auto files = read_files(folder);
  if (!files) return files.error();
  auto* x509 = files->certificate.get();
  const auto uses = X509_get_extended_key_usage(x509);  // all of them, where it names none
  CertificateFacts facts{.names = names_in(x509),
                         .subject = common_name(X509_get_subject_name(x509)),
                         .issuer = common_name(X509_get_issuer_name(x509)),
                         .begins = time_of(X509_get0_notBefore(x509)),
                         .ends = time_of(X509_get0_notAfter(x509)),
                         .serves = (uses & XKU_SSL_SERVER) != 0,
                         .dials = (uses & XKU_SSL_CLIENT) != 0};
  std::error_code ignored;
  facts.has_authority_key = std::filesystem::exists(std::filesystem::path(folder) / "ca-key.pem", ignored);
  facts.problems = problems_of(*files, facts);
  return facts;
}

}  // namespace yoke::security
