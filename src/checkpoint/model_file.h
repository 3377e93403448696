// Model files: safetensors, which other tools read. Eight bytes with the length of a JSON header (little-endian), the
// header (name -> dtype, shape, data_offsets; `__metadata__` with words), then the tensors' bytes. Errors name the file
// and the tensor: Code::missing when the disk says no, Code::corrupt when the bytes do not check out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yoke/error.h"
#include "yoke/state.h"

namespace yoke::checkpoint {

// What the header says of one tensor. `type` is as written in the file: a type this library does not compute with can
// still be listed.
struct TensorInfo {
  std::string name;
  std::string type;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // in the bytes that follow the header
};

struct ModelHeader {
  std::vector<TensorInfo> tensors;  // in the order of their bytes
  std::map<std::string, std::string> about;
  std::uint64_t header_bytes = 0;  // the eight bytes and the header
  std::uint64_t data_bytes = 0;
};

// What the format allows a header to take; a damaged length could claim more.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
// What stands before the header: its length.
constexpr std::size_t kLengthBytes = 8;
// The key of the words about the model.
constexpr std::string_view kAboutKey = "__metadata__";

// Bytes an element of a type takes, by the type's name in the file; none: the format has no such type.
std::optional<std::size_t> element_bytes(std::string_view type);

// A name or word out of a file, fit for a line of text: control characters as '?', and cut after about `most` bytes.
std::string printable(std::string_view text, std::size_t most = 100);

// Checks everything before memory is taken: lengths against the file's, offsets without gaps or overlaps, shapes
// against offsets. `file_bytes`: the length of the whole file. Pure: what a fuzzer calls.
Result<ModelHeader> parse_model_header(std::span<const std::byte> beginning, std::uint64_t file_bytes);

Result<ModelHeader> read_model_header(const std::string& file);
// A type this library does not compute with is Code::unsupported.
Result<State> read_model(const std::string& file);
// One tensor of a file whose header was read.
Result<StateTensor> read_tensor(const std::string& file, const ModelHeader& header, const TensorInfo& info);

// What a file of these tensors begins with: the length and the header. Tensors that would not be read again, in the
// order of their bytes, are Code::invalid_argument.
Result<std::string> model_header_text(std::span<const TensorInfo> tensors,
                                      const std::map<std::string, std::string>& about);

// Whole or not at all, as write_whole promises. Larger elements come first, then names in order, so that every tensor
// is aligned. A state that does not fit itself is Code::invalid_argument.
Status write_model(const std::string& file, const State& state);

}  // namespace yoke::checkpoint
