#include "launch/job_keys.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "security/certificates.h"
#include "security/credentials.h"
#include "security/secret.h"

namespace yoke::launch {
namespace {

// The certificates' one name: addresses are known only when servers listen, and nobody else's authority counts.
constexpr char kPeerName[] = "job.yoke.internal";
constexpr unsigned kDays = 365;

}  // namespace

bool has_own_keys(const Lookup& lookup) {
  for (const auto* name : {security::kSecretFileVariable, security::kSecretVariable, security::kCertsVariable,
                           security::kInsecureVariable})
    if (!value_of(lookup, name).empty()) return true;
  return false;
}

Result<JobKeys> make_job_keys(const std::string& folder) {
  auto secret = security::Secret::make();
  if (!secret) return secret.error();
  const auto file = folder + "/new-secret";
  if (auto written = (*secret)->write(file); !written) return written.error();
  auto text = security::read_pem(file, true);
  unlink(file.c_str());
  if (!text) return text.error();
  auto authority = security::new_authority("yoke job", kDays);
  if (!authority) return authority.error();
  auto issued = security::issue(*authority, {.names = {kPeerName}, .serves = true, .days = kDays});
  if (!issued) return issued.error();
  return JobKeys{*text, authority->certificate, issued->certificate, issued->key};
}

Result<std::vector<std::string>> keep_job_keys(const JobKeys& keys, const std::string& folder) {
  const auto certs = folder + "/certs";
  if (mkdir(certs.c_str(), 0700) != 0)
    return Error{Code::missing, fmt::format("{} cannot be made: {}", certs, std::strerror(errno))};
  const auto secret = folder + "/secret";
  for (const auto& [path, text, is_private] : {std::tuple{secret, keys.secret, true},
                                               {certs + "/ca.pem", keys.ca, false},
                                               {certs + "/cert.pem", keys.certificate, false},
                                               {certs + "/key.pem", keys.key, true}})
    if (auto written = security::write_pem(path, text, is_private); !written) return written.error();
  return std::vector<std::string>{fmt::format("{}={}", security::kSecretFileVariable, secret),
                                  fmt::format("{}={}", security::kCertsVariable, certs),
                                  fmt::format("{}={}", security::kPeerNameVariable, kPeerName)};
}

}  // namespace yoke::launch
