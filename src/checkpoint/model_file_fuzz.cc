// Any bytes as the beginning of a model file: the tensors of an accepted header lie one behind the other, each as long
// as its shape says, and fill the file.
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "checkpoint/model_file.h"

namespace {

using namespace yoke::checkpoint;

void check_promises(const ModelHeader& header, std::uint64_t file_bytes) {
  if (header.header_bytes + header.data_bytes != file_bytes || header.header_bytes < kLengthBytes) __builtin_trap();
  std::uint64_t at = 0;
  std::set<std::string> names;
  for (const auto& tensor : header.tensors) {
    if (!names.insert(tensor.name).second || tensor.begin != at || tensor.end < at) __builtin_trap();
    const auto elements = yoke::elements_of(tensor.shape);
    const auto size = element_bytes(tensor.type);
    std::uint64_t length = 0;
    if (!elements || !size || __builtin_mul_overflow(*elements, *size, &length)) __builtin_trap();
    if (length != tensor.end - tensor.begin) __builtin_trap();
    at = tensor.end;
  }
  if (at != header.data_bytes) __builtin_trap();
}

void parse(std::span<const std::byte> bytes) {
  const auto header = parse_model_header(bytes, bytes.size());
  if (header) check_promises(*header, bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  parse(bytes);
  // Once more with a length that fits the text, or few inputs would come as far as the JSON.
  const auto end = std::string_view(reinterpret_cast<const char*>(data), size).rfind('}');
  if (end == std::string_view::npos || end < kLengthBytes) return 0;
  std::vector<std::byte> fitting(bytes.begin(), bytes.end());
  const std::uint64_t length = end + 1 - kLengthBytes;
  std::memcpy(fitting.data(), &length, kLengthBytes);
  parse(fitting);
  return 0;
}
