#include "cluster/container_secrets.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "wire/codec.h"
#include "wire/limits.h"

namespace yoke::cluster {
namespace {

namespace fs = std::filesystem;

class Secrets {
 public:
  Secrets(std::string folder, security::Secret::Ptr own, Say say)
      : folder_(std::move(folder)), own_(std::move(own)), say_(std::move(say)) {}

  // A newcomer names a container, never a file: what is opened is what the folder itself lists.
  Status read() {
    std::error_code problem;
    std::map<std::string, File> files;
    for (fs::directory_iterator entry(folder_, problem), end; !problem && entry != end; entry.increment(problem)) {
      const auto name = entry->path().filename().string();
      if (!wire::is_job_name(name)) continue;
      const auto stamp = stamp_of(entry->path());
      const auto known = files_.find(name);
      files[name] = known != files_.end() && known->second.stamp == stamp ? known->second
                                                                          : File{stamp, secret_in(entry->path(), name)};
    }
    if (problem)
      return Error{Code::missing, fmt::format("--secrets {}: it cannot be read: {}", folder_, problem.message())};
    files_ = std::move(files);
    return {};
  }

  // Whoever asks is a stranger yet: why there is no secret is for the log.
  Result<security::Secret::Ptr> find(const std::string& introduction) {
    const auto identity = wire::decode_identity(introduction);
    if (!identity) return identity.error();
    const Error closed{Code::refused, "the server cannot check secrets for this container now: its log says why"};
    auto now = read();
    if (!now && !std::exchange(unreadable_, true) && say_) say_(now.error().message);
    if (!now) return closed;
    unreadable_ = false;
    const auto it = files_.find(identity->job);
    if (it == files_.end()) return own_;
    if (!it->second.secret) return closed;
    return it->second.secret;
  }

 private:
  // When and how large it was, and which file: one that is written anew differs in one of them.
  using Stamp = std::tuple<std::int64_t, std::int64_t, std::uint64_t, std::uint64_t>;
  struct File {
    Stamp stamp;
    security::Secret::Ptr secret;  // null: there is none in it, and its container is closed
  };

  static Stamp stamp_of(const fs::path& path) {
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0) return {};
    return {about.st_mtim.tv_sec, about.st_mtim.tv_nsec, about.st_size, about.st_ino};
  }
  security::Secret::Ptr secret_in(const fs::path& path, const std::string& name) const {
    auto secret = security::Secret::from_file(path.string());
    if (secret) return std::move(*secret);
    if (say_) say_(fmt::format("container {} is closed: {}", name, secret.error().message));
    return nullptr;
  }

  const std::string folder_;
  const security::Secret::Ptr own_;
  const Say say_;
  bool unreadable_ = false;            // the folder; it was said
  std::map<std::string, File> files_;  // by container
};

}  // namespace

Result<SecretFor> secrets_by_container(const std::string& folder, security::Secret::Ptr own, Say say) {
  auto secrets = std::make_shared<Secrets>(folder, std::move(own), std::move(say));
  if (auto read = secrets->read(); !read) return read.error();
  return SecretFor([secrets](const std::string& introduction) { return secrets->find(introduction); });
}

}  // namespace yoke::cluster
