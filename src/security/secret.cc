#include "security/secret.h"

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "security/guarded_file.h"
#include "security/openssl_handles.h"

namespace yoke::security {
namespace {

constexpr std::size_t kRandomBytes = 32;
constexpr std::size_t kShortest = 32;
constexpr std::size_t kLongest = 1024;

std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

bool is_space(std::byte c) { return c == std::byte{' '} || (c >= std::byte{'\t'} && c <= std::byte{'\r'}); }
// One word, so that a file of another kind (a key, a program) is not taken for a secret.
bool is_sign(std::byte c) { return c > std::byte{0x20} && c < std::byte{0x7f}; }

// RFC 4648, section 5, without padding.
void encode(std::span<const std::byte> bytes, std::byte* out) {
  constexpr char kSigns[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  unsigned bits = 0, waiting = 0;
  const auto put = [&](unsigned sign) { *out++ = static_cast<std::byte>(kSigns[sign & 63]); };
  for (const auto byte : bytes) {
    waiting = (waiting << 8 | std::to_integer<unsigned>(byte)) & 0xffff;
    for (bits += 8; bits >= 6; bits -= 6) put(waiting >> (bits - 6));
  }
  if (bits > 0) put(waiting << (6 - bits));
}

bool hmac(std::span<const std::byte> key, std::span<const std::byte> bytes, Proof& proof) {
  const Handle<EVP_MAC, EVP_MAC_free> algorithm(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  const Handle<EVP_MAC_CTX, EVP_MAC_CTX_free> context(algorithm ? EVP_MAC_CTX_new(algorithm.get()) : nullptr);
  char digest[] = "SHA256";
  const OSSL_PARAM settings[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                 OSSL_PARAM_construct_end()};
  std::size_t size = 0;
  const auto* in = reinterpret_cast<const unsigned char*>(bytes.data());
  return context &&
         EVP_MAC_init(context.get(), reinterpret_cast<const unsigned char*>(key.data()), key.size(), settings) == 1 &&
         EVP_MAC_update(context.get(), in, bytes.size()) == 1 &&
         EVP_MAC_final(context.get(), reinterpret_cast<unsigned char*>(proof.data()), &size, proof.size()) == 1 &&
         size == proof.size();
}

}  // namespace

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Result<std::shared_ptr<Secret>> Secret::empty() {
  std::shared_ptr<Secret> secret(new Secret);
  void* page = ::mmap(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return Error{Code::unsupported, fmt::format("no memory for a secret: {}", std::strerror(errno))};
  secret->page_ = static_cast<std::byte*>(page);
  if (::madvise(page, page_size(), MADV_DONTDUMP) != 0)
    return Error{Code::unsupported, fmt::format("a secret cannot be kept out of core files: {}", std::strerror(errno))};
  // Out of swap where the limit on locked memory (ulimit -l) lets us.
  (void)::mlock(page, page_size());
  return secret;
}

Result<Secret::Ptr> Secret::checked(std::shared_ptr<Secret> secret, std::size_t size, const std::string& whence) {
  const std::span<std::byte> text(secret->page_, size);
  while (size > 0 && is_space(text[size - 1])) --size;
  if (size < kShortest || size > kLongest)
    return Error{Code::corrupt, fmt::format("{}: a secret has {} to {} characters, this has {}: `yoke secret new FILE` "
                                            "makes one",
                                            whence, kShortest, kLongest, size)};
  if (!std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), is_sign))
    return Error{Code::corrupt, fmt::format("{}: a secret is one word of letters, digits and signs, this is not: "
                                            "`yoke secret new FILE` makes one",
                                            whence)};
  Proof proof;
  if (!hmac(text.first(size), {}, proof))
    return Error{Code::unsupported, "this OpenSSL has no HMAC-SHA256: install another libssl"};
  secret->size_ = size;
  secret->page_[size] = std::byte{'\n'};
  return Ptr(std::move(secret));
}

Result<Secret::Ptr> Secret::make() {
  auto secret = empty();
  if (!secret) return secret.error();
  // The random bytes lie in the same page, behind the characters made of them.
  const std::span random((*secret)->page_ + kLongest, kRandomBytes);
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    return Error{Code::unsupported, fmt::format("the kernel has no random numbers: {}", std::strerror(errno))};
  encode(random, (*secret)->page_);
  OPENSSL_cleanse(random.data(), random.size());
  return checked(std::move(*secret), (kRandomBytes * 8 + 5) / 6, "a new secret");
}

Result<Secret::Ptr> Secret::from_file(const std::string& path) {
  auto secret = empty();
  if (!secret) return secret.error();
  const auto size = read_guarded(path, Readers::owner, {(*secret)->page_, page_size() - 1});
  if (!size) return size.error();
  return checked(std::move(*secret), *size, path);
}

Result<Secret::Ptr> Secret::from_environment(char* value, const std::string& name) {
  auto secret = empty();
  const auto size = std::strlen(value);
  const auto taken = std::min(size, page_size() - 1);  // more than the longest
  if (secret) std::memcpy((*secret)->page_, value, taken);
  OPENSSL_cleanse(value, size);
  if (!secret) return secret.error();
  return checked(std::move(*secret), taken, name);
}

Secret::~Secret() {
  if (!page_) return;
  OPENSSL_cleanse(page_, page_size());
  ::munmap(page_, page_size());
}

Proof Secret::prove(std::span<const std::byte> bytes) const {
  Proof proof;
  if (hmac({page_, size_}, bytes, proof)) return proof;
  // It worked when the secret was taken, so memory is at its end. A proof that is none must not go out.
  std::fputs("yoke: OpenSSL could not make a proof with the secret\n", stderr);
  std::abort();
}

Status Secret::write(const std::string& path) const { return write_guarded(path, Readers::owner, {page_, size_ + 1}); }

}  // namespace yoke::security
