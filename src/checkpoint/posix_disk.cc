#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/write_all.h"
#include "checkpoint/disk.h"

namespace yoke::checkpoint {
namespace {

Error failed(const std::string& path, std::string_view what, int problem) {
  std::string_view remedy = "";
  if (problem == ENOSPC) remedy = ": make room there, keep fewer checkpoints (--keep), or name another folder";
  if (problem == EDQUOT) remedy = ": the quota is used up; make room there, or name another folder";
  if (problem == EROFS || problem == EACCES || problem == EPERM) remedy = ": name a folder that this user may write to";
  return {Code::missing, fmt::format("{}: cannot be {}: {}{}", path, what, std::strerror(problem), remedy)};
}

// An open file or folder; the destructor closes it.
class Opened {
 public:
  Opened(const std::string& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Opened() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  bool ok() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  // For a file that was written: closing is the last time that some file systems tell of a problem.
  int close() {
    const int problem = ::close(descriptor_) != 0 ? errno : 0;
    descriptor_ = -1;
    return problem;
  }

 private:
  int descriptor_;
};

// Answers 0, or the errno that says why not.
int flush(int descriptor) {
  while (::fsync(descriptor) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

constexpr std::size_t kPiece = 1u << 20;  // that is written in one go

class PosixDisk : public Disk {
 public:
  Status make_folder(const std::string& path) override {
    if (::mkdir(path.c_str(), 0777) == 0) return {};
    const int problem = errno;
    struct stat about = {};
    if (problem == EEXIST && ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) return {};
    return failed(path, "made", problem);
  }

  Status write(const std::string& path, std::span<const std::span<const std::byte>> parts) override {
    Opened file(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
    if (!file.ok()) return failed(path, "written", errno);
    int problem = 0;
    for (auto part : parts)
      while (!part.empty() && problem == 0) {
        const auto piece = part.first(std::min(part.size(), kPiece));
        problem = write_all(file.get(), piece);
        part = part.subspan(piece.size());
        breathe();
      }
    if (const int closing = file.close(); problem == 0) problem = closing;
    return problem == 0 ? Status{} : failed(path, "written", problem);
  }

  Status flush_file(const std::string& path) override {
    const Opened file(path, O_RDWR | O_NOFOLLOW);
    const int problem = file.ok() ? flush(file.get()) : errno;
    return problem == 0 ? Status{} : failed(path, "flushed to the disk", problem);
  }

  Status flush_folder(const std::string& path) override {
    const Opened folder(path.empty() ? "." : path, O_RDONLY | O_DIRECTORY);
    const int problem = folder.ok() ? flush(folder.get()) : errno;
    // Some file systems cannot flush a folder.
    return problem == 0 || problem == EINVAL ? Status{} : failed(path, "flushed to the disk", problem);
  }

  Status rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) == 0) return {};
    return failed(from, fmt::format("renamed to {}", to), errno);
  }

  Status remove(const std::string& path) override {
    std::error_code problem;
    std::filesystem::remove_all(path, problem);  // does not follow links
    return problem ? failed(path, "removed", problem.value()) : Status{};
  }

  Result<std::vector<std::string>> list(const std::string& path) override {
    std::error_code problem;
    std::vector<std::string> names;
    std::filesystem::directory_iterator entries(path, problem);
    for (; !problem && entries != std::filesystem::directory_iterator(); entries.increment(problem))
      names.push_back(entries->path().filename().string());
    if (problem) return failed(path, "listed", problem.value());
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<bool> exists(const std::string& path) override {
    struct stat about = {};
    if (::lstat(path.c_str(), &about) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return failed(path, "looked at", errno);
  }

  Result<std::uint64_t> size(const std::string& path) override {
    struct stat about = {};
    if (::lstat(path.c_str(), &about) != 0) return failed(path, "read", errno);
    if (!S_ISREG(about.st_mode)) return Error{Code::missing, fmt::format("{}: cannot be read: not a file", path)};
    return static_cast<std::uint64_t>(about.st_size);
  }

  Result<std::size_t> read(const std::string& path, std::uint64_t offset, std::span<std::byte> out) override {
    // Nonblocking: opening a pipe would wait for somebody to write into it.
    const Opened file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!file.ok()) return failed(path, "read", errno);
    std::size_t have = 0;
    while (have < out.size()) {
      const auto got = ::pread(file.get(), out.data() + have, out.size() - have, static_cast<off_t>(offset + have));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failed(path, "read", errno);
      if (got == 0) break;
      have += static_cast<std::size_t>(got);
    }
    return have;
  }
};

class UnhurriedDisk final : public PosixDisk {
 public:
  explicit UnhurriedDisk(std::function<void()> rest) : rest_(std::move(rest)) {}
  void breathe() override { rest_(); }

 private:
  const std::function<void()> rest_;
};

}  // namespace

Disk& posix_disk() {
  static PosixDisk disk;
  return disk;
}

std::unique_ptr<Disk> unhurried_disk(std::function<void()> rest) {
  return std::make_unique<UnhurriedDisk>(std::move(rest));
}

}  // namespace yoke::checkpoint
