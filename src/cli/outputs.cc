#include "cli/outputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>

#include "base/write_whole.h"

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
  const auto bytes = std::as_bytes(std::span(text));
  return write_whole(file, {&bytes, 1});
}

}  // namespace yoke::cli
