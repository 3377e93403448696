// All there is to know about a model's parameters and buffers at one moment, in host memory: what is kept as the best
// so far, saved to a file, and started from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yoke/error.h"

namespace yoke {

enum class DType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

// Bytes an element takes, and the name it has in model files: "F32", "I64", "BOOL".
std::size_t size_of(DType type);
std::string_view name_of(DType type);
std::optional<DType> dtype_named(std::string_view name);

// How many elements a shape has; none when an extent is negative, or when 64 bits cannot count them.
std::optional<std::uint64_t> elements_of(std::span<const std::int64_t> shape);

struct StateTensor {
  std::string name;
  DType type = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;  // little-endian, row by row
};

struct State {
  std::vector<StateTensor> tensors;
  std::map<std::string, std::string> about;  // what else is known: which model, which data

  const StateTensor* find(std::string_view name) const;
};

// The elements as float, whatever floating-point type they are stored in; an error names a tensor of another kind, or
// whose bytes are not as many as its shape says. `doubles_of` loses nothing of F64.
Result<std::vector<float>> floats_of(const StateTensor& tensor);
Result<std::vector<double>> doubles_of(const StateTensor& tensor);

}  // namespace yoke
