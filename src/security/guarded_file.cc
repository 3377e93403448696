#include "security/guarded_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace yoke::security {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

Error problem(const std::string& path, const std::string& what) {
  return {Code::missing, fmt::format("{}: {}", path, what)};
}

bool is_ours(const struct stat& about) { return about.st_uid == ::geteuid() || about.st_uid == 0; }

std::string stranger(const char* what, const struct stat& about) {
  return fmt::format("{} belongs to user {}, who could change it: it must belong to this user ({}) or to root", what,
                     about.st_uid, ::geteuid());
}

// Asked of the open descriptor, so that nobody can exchange the file between the question and the reading.
Status check(const std::string& path, Readers readers, int descriptor) {
  struct stat about {};
  if (::fstat(descriptor, &about) != 0) return problem(path, std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return problem(path, "is no plain file");
  if (!is_ours(about)) return problem(path, stranger("the file", about));
  if (readers == Readers::owner && (about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return problem(path, fmt::format("is private, but others may read or write it (mode {:04o}): `chmod 600 {}`",
                                     about.st_mode & 07777, path));
  if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return problem(path, fmt::format("says whom to believe, but others may write it (mode {:04o}): `chmod go-w {}`",
                                     about.st_mode & 07777, path));
  return {};
}

Result<std::size_t> read_whole(const std::string& path, int descriptor, std::span<std::byte> into) {
  std::size_t size = 0;
  for (;;) {
    std::byte beyond{};  // where the end of a file that just fits is looked for
    const bool full = size == into.size();
    const auto got = ::read(descriptor, full ? &beyond : into.data() + size, full ? 1 : into.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return problem(path, std::strerror(errno));
    if (got == 0) return size;
    if (full) return problem(path, fmt::format("has more than {} bytes, which is not what this is", into.size()));
    size += static_cast<std::size_t>(got);
  }
}

int write_whole(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto put = ::write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return ::fsync(descriptor) == 0 ? 0 : errno;
}

}  // namespace

Result<std::size_t> read_guarded(const std::string& path, Readers readers, std::span<std::byte> into) {
  // A link is followed when whoever made it could have made the file (Kubernetes hands out its secrets behind links).
  struct stat link {};
  if (::lstat(path.c_str(), &link) != 0) return problem(path, std::strerror(errno));
  const bool is_link = S_ISLNK(link.st_mode);
  if (is_link && !is_ours(link)) return problem(path, stranger("the link", link));
  // A pipe must not make us wait.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (is_link ? 0 : O_NOFOLLOW)));
  if (file.get() < 0) return problem(path, std::strerror(errno));
  if (const auto good = check(path, readers, file.get()); !good) return good.error();
  auto size = read_whole(path, file.get(), into);
  if (!size) OPENSSL_cleanse(into.data(), into.size());
  return size;
}

Status write_guarded(const std::string& path, Readers readers, std::span<const std::byte> bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0 && errno == EEXIST)
    return problem(path, "is there already, and is left alone: name another, or remove it first");
  if (file.get() < 0) return problem(path, fmt::format("cannot be written: {}", std::strerror(errno)));
  int why = write_whole(file.get(), bytes);
  // The umask may have taken from the mode; what everybody may read is shown when it is whole.
  if (why == 0 && ::fchmod(file.get(), readers == Readers::owner ? 0600 : 0644) != 0) why = errno;
  if (::close(file.release()) != 0 && why == 0) why = errno;  // where a full disk behind a network is told
  if (why == 0) return {};
  ::unlink(path.c_str());
  return problem(path, fmt::format("cannot be written: {}", std::strerror(why)));
}

}  // namespace yoke::security
