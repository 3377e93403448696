#include "cli/outputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace yoke::cli {

namespace fs = std::filesystem;

Status can_write(const std::string& flag, const std::string& file) {
  if (file.empty()) return {};
  const fs::path path(file);
  const auto folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    return Error{Code::missing,
                 fmt::format("{} {}: there is no folder {}; make it first (mkdir -p)", flag, file, folder.string())};
  if (fs::is_directory(path, ignored))
    return Error{Code::missing, fmt::format("{} {} is a folder: name a file in it", flag, file)};
  if (access(folder.c_str(), W_OK) != 0)
    return Error{Code::missing,
                 fmt::format("{} {}: {} cannot be written to ({})", flag, file, folder.string(), std::strerror(errno))};
  return {};
}

Status write_file(const std::string& file, std::string_view text) {
  const auto unfinished = fmt::format("{}.unfinished-{}", file, getpid());
  std::error_code problem;
  {
    std::ofstream out(unfinished, std::ios::binary);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.flush();
    if (!out) {
      fs::remove(unfinished, problem);
      return Error{Code::missing, fmt::format("{} cannot be written: {}", file, std::strerror(errno))};
    }
  }
  fs::rename(unfinished, file, problem);
  if (!problem) return {};
  const auto why = problem.message();
  fs::remove(unfinished, problem);
  return Error{Code::missing, fmt::format("{} cannot be written: {}", file, why)};
}

}  // namespace yoke::cli
