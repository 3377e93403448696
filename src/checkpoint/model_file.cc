#include "checkpoint/model_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace yoke::checkpoint {
namespace {

class InputFile {
 public:
  static Result<InputFile> open(const std::string& name) {
    struct stat about = {};
    // Looked at first: opening a pipe would wait for somebody to write into it.
    if (::stat(name.c_str(), &about) != 0) return unreadable(name, std::strerror(errno));
    if (!S_ISREG(about.st_mode)) return unreadable(name, "not a file");
    InputFile file(name, ::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.descriptor_ < 0 || ::fstat(file.descriptor_, &about) != 0) return unreadable(name, std::strerror(errno));
    file.size_ = static_cast<std::uint64_t>(about.st_size);
    return file;
  }
  InputFile(InputFile&& other) noexcept
      : name_(std::move(other.name_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  std::uint64_t size() const { return size_; }

  Result<std::vector<std::byte>> read(std::uint64_t at, std::uint64_t length) const {
    std::vector<std::byte> bytes(length);
    for (std::uint64_t have = 0; have < length;) {
      const auto got = ::pread(descriptor_, bytes.data() + have, length - have, static_cast<off_t>(at + have));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return unreadable(name_, std::strerror(errno));
      if (got == 0) return Error{Code::corrupt, fmt::format("{}: became shorter while it was read", name_)};
      have += static_cast<std::uint64_t>(got);
    }
    return bytes;
  }

 private:
  InputFile(std::string name, int descriptor) : name_(std::move(name)), descriptor_(descriptor) {}
  static Error unreadable(const std::string& name, const char* why) {
    return {Code::missing, fmt::format("{}: cannot be read: {}", name, why)};
  }

  std::string name_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

Error named(const std::string& file, const Error& error) {
  return {error.code, fmt::format("{}: {}", file, error.message)};
}

Result<ModelHeader> header_of(const InputFile& input, const std::string& file) {
  // The length first: a file that is something else must not have its first 100 MB read for that.
  std::uint64_t length = 0;
  auto beginning = input.read(0, std::min<std::uint64_t>(input.size(), kLengthBytes));
  if (!beginning) return beginning.error();
  if (beginning->size() == kLengthBytes) {
    std::memcpy(&length, beginning->data(), kLengthBytes);
    if (length <= kMaxHeaderBytes && length <= input.size() - kLengthBytes)
      beginning = input.read(0, kLengthBytes + length);
    if (!beginning) return beginning.error();
  }
  auto header = parse_model_header(*beginning, input.size());
  return header ? std::move(header) : named(file, header.error());
}

Result<StateTensor> tensor_of(const InputFile& input, const std::string& file, const ModelHeader& header,
                              const TensorInfo& info) {
  const auto type = dtype_named(info.type);
  if (!type)
    return Error{Code::unsupported,
                 fmt::format("{}: tensor '{}' is of type {}, which Yoke does not compute with: convert it", file,
                             printable(info.name), info.type)};
  auto bytes = input.read(header.header_bytes + info.begin, info.end - info.begin);
  if (!bytes) return bytes.error();
  return StateTensor{info.name, *type, info.shape, std::move(*bytes)};
}

}  // namespace

Result<ModelHeader> read_model_header(const std::string& file) {
  const auto input = InputFile::open(file);
  return input ? header_of(*input, file) : input.error();
}

Result<State> read_model(const std::string& file) {
  const auto input = InputFile::open(file);
  if (!input) return input.error();
  const auto header = header_of(*input, file);
  if (!header) return header.error();
  State state;
  state.about = header->about;
  for (const auto& info : header->tensors) {
    auto tensor = tensor_of(*input, file, *header, info);
    if (!tensor) return tensor.error();
    state.tensors.push_back(std::move(*tensor));
  }
  return state;
}

Result<StateTensor> read_tensor(const std::string& file, const ModelHeader& header, const TensorInfo& info) {
  const auto input = InputFile::open(file);
  return input ? tensor_of(*input, file, header, info) : input.error();
}

}  // namespace yoke::checkpoint
