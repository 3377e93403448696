#include "checkpoint/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "checkpoint/model_file.h"

namespace yoke::checkpoint {
namespace {

std::string holder(int descriptor) {
  std::array<char, 200> text = {};
  const auto got = ::pread(descriptor, text.data(), text.size(), 0);
  const std::string_view words(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  return words.empty() ? "of a process that did not say which" : printable(words.substr(0, words.find('\n')));
}

// For people; the lock itself is the kernel's.
int say_who(int descriptor) {
  std::array<char, 65> host = {};
  ::gethostname(host.data(), host.size() - 1);
  const auto words = fmt::format("process {} on {}\n", ::getpid(), host.data());
  if (::ftruncate(descriptor, 0) != 0) return errno;
  return ::pwrite(descriptor, words.data(), words.size(), 0) < 0 ? errno : 0;
}

}  // namespace

Lock::Lock(Lock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Lock& Lock::operator=(Lock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Lock::~Lock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<Lock> lock_folder(const std::string& folder) {
  const auto path = folder + "/lock";
  const auto failed = [&](int problem) {
    return Error{Code::missing, fmt::format("{}: cannot be locked: {}: name a folder that this user may write to, on a "
                                            "file system with locks",
                                            path, std::strerror(problem))};
  };
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) return failed(errno);
  Lock lock(descriptor);
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return failed(errno);
    return Error{Code::refused, fmt::format("{}: another job ({}) writes its checkpoints there: wait for it, or name "
                                            "another folder",
                                            folder, holder(descriptor))};
  }
  if (const int problem = say_who(descriptor); problem != 0) return failed(problem);
  return lock;
}

}  // namespace yoke::checkpoint
