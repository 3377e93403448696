// The header of a model file, from bytes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "checkpoint/corrupt.h"
#include "checkpoint/header_json.h"
#include "checkpoint/model_file.h"

namespace yoke::checkpoint {
namespace {

// One tensor after another, from the first byte to the last, each as long as its shape says.
Status check_cover(const std::vector<TensorInfo>& tensors, std::uint64_t data_bytes) {
  std::uint64_t at = 0;
  for (const auto& tensor : tensors) {
    const auto name = printable(tensor.name);
    const auto size = element_bytes(tensor.type);
    if (!size) return corrupt(fmt::format("tensor '{}': there is no type '{}'", name, printable(tensor.type)));
    if (tensor.begin != at || tensor.end < tensor.begin || tensor.end > data_bytes)
      return corrupt(fmt::format("tensor '{}': its bytes {} to {} should begin at {} and end by {}", name, tensor.begin,
                                 tensor.end, at, data_bytes));
    const auto elements = elements_of(tensor.shape);
    std::uint64_t length = 0;
    if (!elements || __builtin_mul_overflow(*elements, *size, &length) || length != tensor.end - tensor.begin)
      return corrupt(fmt::format("tensor '{}': {} bytes do not make the shape [{}] of {}", name,
                                 tensor.end - tensor.begin, fmt::join(tensor.shape, ", "), tensor.type));
    at = tensor.end;
  }
  if (at != data_bytes) return corrupt(fmt::format("the last {} bytes belong to no tensor", data_bytes - at));
  return {};
}

}  // namespace

std::optional<std::size_t> element_bytes(std::string_view type) {
  if (const auto known = dtype_named(type)) return size_of(*known);
  if (type == "F8_E4M3" || type == "F8_E5M2") return 1;
  if (type == "U16") return 2;
  if (type == "U32") return 4;
  if (type == "U64") return 8;
  return std::nullopt;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (line.size() >= most && (byte & 0xc0) != 0x80) return line + "...";
    const bool wide = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    line += byte < 0x20 || byte == 0x7f || wide ? '?' : text[i];
    if (wide) ++i;
  }
  return line;
}

Result<ModelHeader> parse_model_header(std::span<const std::byte> beginning, std::uint64_t file_bytes) {
  if (beginning.size() < kLengthBytes || file_bytes < kLengthBytes)
    return corrupt("too short for a model file (safetensors): not even the header's length is there");
  std::uint64_t length = 0;
  std::memcpy(&length, beginning.data(), kLengthBytes);
  if (length > kMaxHeaderBytes)
    return corrupt(
        fmt::format("not a model file (safetensors): its first bytes would mean a header of {} bytes, over {}", length,
                    kMaxHeaderBytes));
  if (length > file_bytes - kLengthBytes || length > beginning.size() - kLengthBytes)
    return corrupt(fmt::format("cut off, or not a model file (safetensors): a header of {} bytes does not fit into {}",
                               length, file_bytes));
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()) + kLengthBytes, length);
  // The JSON reader takes a zero byte for the end, and would never see what stands behind it.
  if (!text.starts_with('{') || text.find('\0') != text.npos)
    return corrupt("not a model file (safetensors): the header does not begin with '{', or has zero bytes in it");

  auto header = read_header_json(text);
  if (!header) return header;
  header->header_bytes = kLengthBytes + length;
  header->data_bytes = file_bytes - header->header_bytes;
  std::sort(header->tensors.begin(), header->tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  if (auto status = check_cover(header->tensors, header->data_bytes); !status) return status.error();
  return header;
}

}  // namespace yoke::checkpoint
