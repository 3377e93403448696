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

struct Parsed {
  bool number = false, in_range = false;
  double value = 0;
};

Parsed parse(std::string_view field) {
  if (field.starts_with('+') && !field.starts_with("+-")) field.remove_prefix(1);
  Parsed parsed;
  const auto [stop, failure] = std::from_chars(field.data(), field.data() + field.size(), parsed.value);
  parsed.number = failure != std::errc::invalid_argument && stop == field.data() + field.size();
  parsed.in_range = failure == std::errc();
  return parsed;
}

Error wrong_number(std::string_view field, const char* why) {
  return {Code::corrupt, fmt::format("{} {}", shown(field), why)};
}

}  // namespace

bool looks_like_number(std::string_view field) { return parse(field).number; }

Result<double> parse_number(std::string_view field) {
  if (field.empty()) return Error{Code::corrupt, "the field is empty"};
  const auto [number, in_range, value] = parse(field);
  if (!number) return wrong_number(field, "is no number");
  if (field.size() > kLongest) return wrong_number(field, "is too long for a number");
  if (!in_range) return wrong_number(field, "is out of range for a number");
  if (!std::isfinite(value)) return wrong_number(field, "is not finite");
  if (std::fabs(value) > std::numeric_limits<float>::max()) return wrong_number(field, "is out of range for a number");
  return value;
}

Result<std::string> parse_integer(std::string_view field) {
  const auto value = parse_number(field);
  if (!value) return value.error();
  if (*value != std::trunc(*value)) return wrong_number(field, "is no integer");
  if (std::fabs(*value) > kLargestInteger) return wrong_number(field, "is out of range for an integer");
  return std::to_string(static_cast<std::int64_t>(*value));
}

std::string shown(std::string_view field) {
  constexpr std::size_t kShown = 40;
  if (field.size() <= kShown) return fmt::format("'{}'", field);
  return fmt::format("'{}...'", field.substr(0, kShown));
}

}  // namespace yoke::data
