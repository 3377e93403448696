#include "checkpoint/read_text.h"

#include <fmt/format.h>

#include "checkpoint/model_file.h"

namespace yoke::checkpoint {

Result<std::string> read_text(Disk& disk, const std::string& path) {
  const auto size = disk.size(path);
  if (!size) return size.error();
  if (*size > kMaxHeaderBytes)
    return Error{Code::corrupt, fmt::format("{}: {} bytes are more than it may have", path, *size)};
  std::string text(*size, '\0');
  const auto got = disk.read(path, 0, std::as_writable_bytes(std::span(text)));
  if (!got) return got.error();
  if (*got != text.size()) return Error{Code::corrupt, fmt::format("{}: became shorter while it was read", path)};
  return text;
}

}  // namespace yoke::checkpoint
