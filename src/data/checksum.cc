#include "data/checksum.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

namespace yoke::data {

Result<std::string> sha256_of(const std::string& file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(file.c_str(), "rb"), std::fclose);
  if (!in) return Error{Code::missing, fmt::format("{}: {}", file, std::strerror(errno))};
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> sum(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  bool good = sum && EVP_DigestInit_ex(sum.get(), EVP_sha256(), nullptr) == 1;
  std::vector<char> piece(1 << 20);
  std::size_t bytes = 0;
  while (good && (bytes = std::fread(piece.data(), 1, piece.size(), in.get())) > 0)
    good = EVP_DigestUpdate(sum.get(), piece.data(), bytes) == 1;
  if (std::ferror(in.get())) return Error{Code::missing, fmt::format("{}: {}", file, std::strerror(errno))};
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (!good || EVP_DigestFinal_ex(sum.get(), digest, &length) != 1)
    return Error{Code::unsupported, "this OpenSSL has no SHA-256: install another libssl"};
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace yoke::data
