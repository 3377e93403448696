#include "data/file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

namespace yoke::data {
namespace {

constexpr std::size_t kChunk = 1 << 20;

struct CloseGzip {
  void operator()(gzFile_s* stream) const { gzclose_r(stream); }
};

}  // namespace

Result<std::vector<std::uint8_t>> read_file(const std::string& file, std::uint64_t limit) {
  errno = 0;
  std::unique_ptr<gzFile_s, CloseGzip> stream(gzopen(file.c_str(), "rb"));
  if (!stream) return Error{Code::missing, fmt::format("{}: {}", file, std::strerror(errno))};

  std::vector<std::uint8_t> bytes;
  for (;;) {
    const auto have = bytes.size();
    if (have > limit) return Error{Code::corrupt, fmt::format("{}: longer than the limit of {} bytes", file, limit)};
    bytes.resize(have + kChunk);
    const int got = gzread(stream.get(), bytes.data() + have, kChunk);
    bytes.resize(have + static_cast<std::size_t>(std::max(got, 0)));
    if (got <= 0) break;
  }
  // Asked at the end of every file: gzip that was cut off ends like a whole one, but leaves an error behind.
  int code = Z_OK;
  const std::string why = gzerror(stream.get(), &code);  // begins with the file's name
  if (code != Z_OK) return Error{code == Z_ERRNO ? Code::missing : Code::corrupt, why};
  return bytes;
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace yoke::data
