#include "checkpoint/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "checkpoint/model_file.h"
#include "wire/checksum.h"

namespace yoke::checkpoint {
namespace {

constexpr std::size_t kBuffer = 4 << 20;
constexpr std::string_view kLikely = "a bit flipped, or the disk is failing";

class Verifier {
 public:
  Verifier(Disk& disk, const std::string& path, const ListedFile& listed) : disk_(disk), path_(path), listed_(listed) {}

  Result<std::uint64_t> run() {
    const auto size = disk_.size(path_);
    if (!size) return Error{Code::corrupt, size.error().message};
    if (*size != listed_.bytes)
      return corrupt(fmt::format("it has {} bytes, {} were written: cut off, or changed since", *size, listed_.bytes));
    const auto sum = sum_of(0, listed_.bytes);
    if (!sum) return sum.error();
    if (*sum != listed_.sum) return corrupt(damage());
    const auto header = this->header();
    if (!header) return corrupt(header.error().message);
    return check(*header);
  }

 private:
  Error corrupt(const std::string& why) const { return {Code::corrupt, fmt::format("{}: {}", path_, why)}; }

  Result<std::uint64_t> sum_of(std::uint64_t at, std::uint64_t length) {
    wire::Checksum sum;
    buffer_.resize(std::max<std::uint64_t>(buffer_.size(), std::min<std::uint64_t>(length, kBuffer)));
    while (length > 0) {
      const auto into = std::span(buffer_).first(std::min<std::uint64_t>(length, kBuffer));
      const auto got = disk_.read(path_, at, into);
      if (!got) return Error{Code::corrupt, got.error().message};
      if (*got != into.size()) return corrupt("it became shorter while it was read");
      sum.add(into);
      at += into.size();
      length -= into.size();
    }
    return sum.value();
  }

  // Which part of the file it is that does not have its sum, in words.
  std::string damage() {
    std::uint64_t data = 0;
    for (const auto& tensor : listed_.tensors) data += (tensor.end - tensor.begin) * sizeof(float);
    auto at = listed_.bytes - std::min(listed_.bytes, data);
    for (const auto& tensor : listed_.tensors) {
      const auto length = (tensor.end - tensor.begin) * sizeof(float);
      const auto sum = sum_of(at, std::min(length, listed_.bytes - at));
      if (!sum) return fmt::format("tensor {} cannot be read: {}", printable(tensor.name), kLikely);
      if (*sum != tensor.sum)
        return fmt::format("tensor {} does not have the sum that was written: {}", printable(tensor.name), kLikely);
      at = std::min(listed_.bytes, at + length);
    }
    return fmt::format("the header does not have the sum that was written: {}", kLikely);
  }

  Result<ModelHeader> header() {
    std::uint64_t length = 0;
    std::vector<std::byte> beginning(std::min<std::uint64_t>(listed_.bytes, kLengthBytes));
    auto got = disk_.read(path_, 0, beginning);
    if (got && *got == kLengthBytes) {
      std::memcpy(&length, beginning.data(), kLengthBytes);
      if (length <= kMaxHeaderBytes && length <= listed_.bytes - kLengthBytes) beginning.resize(kLengthBytes + length);
      got = disk_.read(path_, 0, beginning);
    }
    if (!got) return got.error();
    return parse_model_header(std::span(beginning).first(*got), listed_.bytes);
  }

  // The header and the list say the same.
  Result<std::uint64_t> check(const ModelHeader& header) {
    if (header.tensors.size() != listed_.tensors.size())
      return corrupt("its header has more or fewer tensors than the part's list");
    for (std::size_t i = 0; i < header.tensors.size(); ++i) {
      const auto& info = header.tensors[i];
      const auto& tensor = listed_.tensors[i];
      if (info.name != tensor.name || info.type != "F32" ||
          info.end - info.begin != (tensor.end - tensor.begin) * sizeof(float))
        return corrupt(fmt::format("tensor {} is not what the part's list says", printable(info.name)));
    }
    return header.header_bytes;
  }

  Disk& disk_;
  const std::string& path_;
  const ListedFile& listed_;
  std::vector<std::byte> buffer_;
};

}  // namespace

Result<std::uint64_t> verify_file(Disk& disk, const std::string& path, const ListedFile& listed) {
  return Verifier(disk, path, listed).run();
}

}  // namespace yoke::checkpoint
