#include "base/write_whole.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/write_all.h"

namespace yoke {
namespace {

// Every call here answers 0, or the errno that says why not.
int write_flushed(const std::string& file, std::span<const std::span<const std::byte>> parts) {
  // Truncates what a process of the same number may have left here when it was killed.
  const int out = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (out < 0) return errno;
  int problem = 0;
  for (std::size_t i = 0; i < parts.size() && problem == 0; ++i) problem = write_all(out, parts[i]);
  if (problem == 0 && ::fsync(out) != 0) problem = errno;
  if (::close(out) != 0 && problem == 0) problem = errno;
  return problem;
}

int flush_folder_of(const std::string& file) {
  const auto folder = std::filesystem::path(file).parent_path();
  const int in = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (in < 0) return errno;
  // Some file systems cannot flush a folder; the file itself is on the disk.
  const int problem = ::fsync(in) != 0 && errno != EINVAL ? errno : 0;
  ::close(in);
  return problem;
}

}  // namespace

Status write_whole(const std::string& file, std::span<const std::span<const std::byte>> parts) {
  const auto beside = fmt::format("{}.tmp-{}", file, ::getpid());
  int problem = write_flushed(beside, parts);
  if (problem == 0 && ::rename(beside.c_str(), file.c_str()) != 0) problem = errno;
  if (problem != 0) {
    ::unlink(beside.c_str());
  } else {
    problem = flush_folder_of(file);
  }
  if (problem == 0) return {};
  return Error{Code::missing, fmt::format("{}: cannot be written: {}", file, std::strerror(problem))};
}

}  // namespace yoke
