#include "data/digits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "data/file.h"

namespace yoke::data {
namespace {

constexpr std::uint64_t kPixels = 64, kMaxPixel = 16, kClasses = 10;
constexpr std::uint64_t kTrain = 1500, kTest = 297;
constexpr std::uint64_t kMaxBytes = 1 << 20;  // the file has 264,712
// Of pixels / 16, over the training set.
constexpr float kMean = 0.3051F, kDeviation = 0.3750F;

Dataset empty(const char* part) {
  Dataset set;
  set.name = std::string("digits ") + part;
  set.shape = {1, 8, 8};
  set.classes = kClasses;
  set.scale = 1 / (kMaxPixel * kDeviation);
  set.shift = -kMean / kDeviation;
  return set;
}

// Appends one line to the set; what is wrong with it in words, or nothing.
std::string append(std::string_view line, Dataset& set) {
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
    (label ? set.labels : set.bytes).push_back(static_cast<std::uint8_t>(value));
    at = stop + 1;
  }
  return {};
}

}  // namespace

Result<Split> read_digits(const std::string& file) {
  const auto bytes = read_file(file, kMaxBytes);
  if (!bytes) return bytes.error();
  std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());

  Split split{empty("train"), empty("test")};
  std::uint64_t lines = 0;
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    auto why = append(line, lines < kTrain ? split.train : split.test);
    ++lines;
    if (!why.empty()) return Error{Code::corrupt, fmt::format("{}: line {}: {}", file, lines, why)};
  }
  if (lines != kTrain + kTest) {
    return Error{Code::corrupt, fmt::format("{}: {} lines, but the digits are {}", file, lines, kTrain + kTest)};
  }
  return split;
}

}  // namespace yoke::data
