#include "cluster/container_secrets.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>

#include "wire/codec.h"
#include "wire/limits.h"

namespace yoke::cluster {
namespace {

namespace fs = std::filesystem;

class Secrets {
 public:
  Secrets(std::string folder, security::Secret::Ptr own) : folder_(std::move(folder)), own_(std::move(own)) {}

  // A newcomer names a container, never a file: what is opened is what the folder itself lists.
  Status read() {
    std::error_code problem;
    const auto changed = fs::last_write_time(folder_, problem);
    if (problem) return unreadable(problem);
    if (changed == read_at_) return {};
    std::map<std::string, security::Secret::Ptr> secrets;
    for (fs::directory_iterator entry(folder_, problem), end; !problem && entry != end; entry.increment(problem)) {
      const auto name = entry->path().filename().string();
      if (!wire::is_job_name(name)) continue;
      auto secret = security::Secret::from_file(entry->path().string());
      if (!secret) return secret.error();
      secrets[name] = std::move(*secret);
    }
    if (problem) return unreadable(problem);
    secrets_ = std::move(secrets);
    read_at_ = changed;
    return {};
  }

  Result<security::Secret::Ptr> find(const std::string& introduction) {
    const auto identity = wire::decode_identity(introduction);
    if (!identity) return identity.error();
    if (auto now = read(); !now) return now.error();
    const auto it = secrets_.find(identity->job);
    return it == secrets_.end() ? own_ : it->second;
  }

 private:
  Error unreadable(const std::error_code& problem) const {
    return {Code::missing, fmt::format("--secrets {}: it cannot be read: {}", folder_, problem.message())};
  }

  const std::string folder_;
  const security::Secret::Ptr own_;
  fs::file_time_type read_at_{};
  std::map<std::string, security::Secret::Ptr> secrets_;  // by container
};

}  // namespace

Result<SecretFor> secrets_by_container(const std::string& folder, security::Secret::Ptr own) {
  auto secrets = std::make_shared<Secrets>(folder, std::move(own));
  if (auto read = secrets->read(); !read) return read.error();
  return SecretFor([secrets](const std::string& introduction) { return secrets->find(introduction); });
}

}  // namespace yoke::cluster
