#include "data/digits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include "data/byte_images.h"
#include "data/file.h"

namespace yoke::data {
namespace {

constexpr std::uint64_t kSide = 8, kPixels = kSide * kSide, kMaxPixel = 16, kClasses = 10;
constexpr std::uint64_t kTrain = 1500, kTest = 297;
constexpr std::uint64_t kMaxBytes = 1 << 20;  // the file has 264,712

struct Digits {
  std::vector<std::uint8_t> pixels, labels;
};

// Appends one line; what is wrong with it in words, or nothing.
std::string append(std::string_view line, Digits& digits) {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::uint64_t field = 0; field <= kPixels; ++field) {
    const bool label = field == kPixels;
    unsigned value = 0;
    const auto [stop, failure] = std::from_chars(at, end, value);
    if (failure != std::errc() || (label ? value >= kClasses : value > kMaxPixel)) {
      return fmt::format("field {} is no {}", field + 1, label ? "label from 0 to 9" : "pixel from 0 to 16");
    }
    if (label ? stop != end : (stop == end || *stop != ',')) return fmt::format("not {} fields", kPixels + 1);
    (label ? digits.labels : digits.pixels).push_back(static_cast<std::uint8_t>(value));
    at = stop + 1;
  }
  return {};
}

Result<Digits> read_digits(const std::string& file) {
  const auto bytes = read_file(file, kMaxBytes);
  if (!bytes) return bytes.error();
  std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  Digits digits;
  std::uint64_t lines = 0;
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    auto why = append(line, digits);
    ++lines;
    if (!why.empty()) return Error{Code::corrupt, fmt::format("{}: line {}: {}", file, lines, why)};
  }
  if (lines != kTrain + kTest) {
    return Error{Code::corrupt, fmt::format("{}: {} lines, but the digits are {}", file, lines, kTrain + kTest)};
  }
  return digits;
}

}  // namespace

Result<Opened> open_digits(const std::string& file, const Schema* like) {
  auto schema = image_schema(file, kSide, kSide, numbered(kClasses), like);
  if (!schema) return schema.error();
  auto digits = read_digits(file);
  if (!digits) return digits.error();
  Opened opened{"digits", nullptr, std::vector<std::uint64_t>(kTrain), std::vector<std::uint64_t>(kTest)};
  opened.source =
      std::make_shared<ByteImages>(std::move(*schema), std::move(digits->pixels), std::move(digits->labels));
  std::iota(opened.train.begin(), opened.train.end(), 0);
  std::iota(opened.test.begin(), opened.test.end(), kTrain);
  return opened;
}

}  // namespace yoke::data
