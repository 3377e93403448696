#include "data/number.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <system_error>

namespace yoke::data {
namespace {

constexpr std::size_t kLongest = 64;          // characters of a number; 17 digits tell all doubles apart
constexpr double kLargestInteger = 0x1.0p53;  // above it doubles leave integers out

struct Read {
  bool number = false, in_range = false;
  double value = 0;
};

Read read(std::string_view field) {
  if (field.starts_with('+') && !field.starts_with("+-")) field.remove_prefix(1);
  Read read;
  const auto [stop, failure] = std::from_chars(field.data(), field.data() + field.size(), read.value);
  read.number = failure != std::errc::invalid_argument && stop == field.data() + field.size();
  read.in_range = failure == std::errc();
  return read;
}

Error wrong(std::string_view field, const char* why) {
  return {Code::corrupt, fmt::format("{} {}", shown(field), why)};
}

}  // namespace

bool looks_like_number(std::string_view field) { return read(field).number; }

Result<double> parse_number(std::string_view field) {
  if (field.empty()) return Error{Code::corrupt, "the field is empty"};
  const auto [number, in_range, value] = read(field);
  if (!number) return wrong(field, "is no number");
  if (field.size() > kLongest) return wrong(field, "is too long for a number");
  if (!in_range) return wrong(field, "is out of range for a number");
  if (!std::isfinite(value)) return wrong(field, "is not finite");
  if (std::fabs(value) > std::numeric_limits<float>::max()) return wrong(field, "is out of range for a number");
  return value;
}

Result<std::string> parse_integer(std::string_view field) {
  const auto value = parse_number(field);
  if (!value) return value.error();
  if (*value != std::trunc(*value)) return wrong(field, "is no integer");
  if (std::fabs(*value) > kLargestInteger) return wrong(field, "is out of range for an integer");
  return std::to_string(static_cast<std::int64_t>(*value));
}

std::string shown(std::string_view field) {
  constexpr std::size_t kShown = 40;
  if (field.size() <= kShown) return fmt::format("'{}'", field);
  return fmt::format("'{}...'", field.substr(0, kShown));
}

}  // namespace yoke::data
