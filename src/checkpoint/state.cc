#include "yoke/state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace yoke {
namespace {

static_assert(std::endian::native == std::endian::little, "states are kept as they lie in model files: little-endian");

struct TypeRow {
  DType type;
  std::string_view name;
  std::size_t size;
};

constexpr std::array kTypes = {
    TypeRow{DType::f64, "F64", 8},      TypeRow{DType::f32, "F32", 4}, TypeRow{DType::f16, "F16", 2},
    TypeRow{DType::bf16, "BF16", 2},    TypeRow{DType::i64, "I64", 8}, TypeRow{DType::i32, "I32", 4},
    TypeRow{DType::i16, "I16", 2},      TypeRow{DType::i8, "I8", 1},   TypeRow{DType::u8, "U8", 1},
    TypeRow{DType::boolean, "BOOL", 1},
};

const TypeRow& row_of(DType type) {
  return *std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeRow& row) { return row.type == type; });
}

float from_half(std::uint16_t half) {
  const auto sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fU, fraction = half & 0x3ffU;
  if (exponent == 0) {  // zero, or too small for a leading one: as many steps of 2^-24
    const float small = std::ldexp(static_cast<float>(fraction), -24);
    return sign ? -small : small;
  }
  const std::uint32_t wide = exponent == 0x1f ? 0xff : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

float from_brain(std::uint16_t brain) { return std::bit_cast<float>(static_cast<std::uint32_t>(brain) << 16); }

template <class To, class Stored, class Convert>
std::vector<To> converted(const StateTensor& tensor, Convert convert) {
  std::vector<To> values(tensor.bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, tensor.bytes.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = static_cast<To>(convert(stored));
  }
  return values;
}

template <class To>
Result<std::vector<To>> values_of(const StateTensor& tensor) {
  const auto elements = elements_of(tensor.shape);
  const auto& type = row_of(tensor.type);
  if (!elements || tensor.bytes.size() % type.size != 0 || tensor.bytes.size() / type.size != *elements)
    return Error{Code::corrupt, fmt::format("tensor '{}': {} bytes do not make the shape [{}] of {}", tensor.name,
                                            tensor.bytes.size(), fmt::join(tensor.shape, ", "), type.name)};
  switch (tensor.type) {
    case DType::f64:
      return converted<To, double>(tensor, [](double x) { return x; });
    case DType::f32:
      return converted<To, float>(tensor, [](float x) { return x; });
    case DType::f16:
      return converted<To, std::uint16_t>(tensor, from_half);
    case DType::bf16:
      return converted<To, std::uint16_t>(tensor, from_brain);
    default:
      return Error{Code::invalid_argument,
                   fmt::format("tensor '{}' is of type {}: F64, F32, F16 or BF16 is needed", tensor.name, type.name)};
  }
}

}  // namespace

std::size_t size_of(DType type) { return row_of(type).size; }
std::string_view name_of(DType type) { return row_of(type).name; }

std::optional<DType> dtype_named(std::string_view name) {
  const auto row = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeRow& r) { return r.name == name; });
  return row == kTypes.end() ? std::nullopt : std::optional(row->type);
}

std::optional<std::uint64_t> elements_of(std::span<const std::int64_t> shape) {
  std::uint64_t count = 1;
  for (const auto extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, static_cast<std::uint64_t>(extent), &count)) return std::nullopt;
  }
  return count;
}

const StateTensor* State::find(std::string_view name) const {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const auto& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

Result<std::vector<float>> floats_of(const StateTensor& tensor) { return values_of<float>(tensor); }
Result<std::vector<double>> doubles_of(const StateTensor& tensor) { return values_of<double>(tensor); }

}  // namespace yoke
