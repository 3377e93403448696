#include "security/pem.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>

#include "security/guarded_file.h"

namespace yoke::security {
namespace {

constexpr std::size_t kLargestFile = 64 * 1024;

std::string text_in(BIO* bio) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : "";
}

BioHandle reader_of(const std::string& text) {
  return BioHandle(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::span<std::byte> bytes_of(std::string& text) { return std::as_writable_bytes(std::span(text)); }

}  // namespace

void wipe(std::string& text) {
  OPENSSL_cleanse(text.data(), text.size());
  text.clear();
}

Result<Certificate> to_pem(X509* certificate, EVP_PKEY* key) {
  const BioHandle open(BIO_new(BIO_s_mem())), closed(BIO_new(BIO_s_secmem()));
  if (!open || !closed || PEM_write_bio_X509(open.get(), certificate) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(closed.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return Error{Code::unsupported, "a certificate could not be written as PEM: " + openssl_reason()};
  return Certificate{.certificate = text_in(open.get()), .key = text_in(closed.get())};
}

Result<std::vector<X509Handle>> certificates_from(const std::string& text) {
  const auto bio = reader_of(text);
  std::vector<X509Handle> found;
  while (bio) {
    X509Handle next(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (!next) break;
    found.push_back(std::move(next));
  }
  // OpenSSL says at the end of the text that there is none more.
  const auto reason = openssl_reason();
  if (found.empty()) return Error{Code::corrupt, fmt::format("no certificate in PEM ({})", reason)};
  return found;
}

Result<X509Handle> certificate_from(const std::string& text) {
  auto all = certificates_from(text);
  if (!all) return all.error();
  return std::move(all->front());
}

Result<KeyHandle> key_from(const std::string& text) {
  const auto bio = reader_of(text);
  const auto refuse = [](char*, int, int, void*) { return -1; };  // else OpenSSL asks at the terminal
  KeyHandle key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, refuse, nullptr) : nullptr);
  if (!key)
    return Error{Code::corrupt, fmt::format("no private key in PEM without a passphrase ({})", openssl_reason())};
  return key;
}

Status write_pem(const std::string& path, const std::string& text, bool is_private) {
  return write_guarded(path, is_private ? Readers::owner : Readers::everybody, std::as_bytes(std::span(text)));
}

Result<std::string> read_pem(const std::string& path, bool is_private) {
  std::string room(kLargestFile, '\0');
  const auto size = read_guarded(path, is_private ? Readers::owner : Readers::everybody, bytes_of(room));
  if (!size) return size.error();
  std::string text(room, 0, *size);
  wipe(room);
  return text;
}

}  // namespace yoke::security
