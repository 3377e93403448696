#include "data/image_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>

namespace yoke::data {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 26;
constexpr auto kPng = "\x89PNG\r\n\x1a\n"sv, kJpeg = "\xff\xd8\xff"sv;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Result<Pixels> read_either(const std::string& file, Read what) {
  const std::unique_ptr<std::FILE, Close> stream(std::fopen(file.c_str(), "rb"));
  if (!stream) return Error{Code::missing, fmt::format("{}: {}", file, std::strerror(errno))};
  std::array<char, kPng.size()> bytes{};
  const std::string_view begin(bytes.data(), std::fread(bytes.data(), 1, bytes.size(), stream.get()));
  std::rewind(stream.get());
  const bool png = begin.starts_with(kPng);
  if (!png && !begin.starts_with(kJpeg)) {
    return Error{Code::corrupt, fmt::format("{}: no png or jpeg image: convert it, or take it away", file)};
  }
  auto pixels = png ? read_png(stream.get(), what) : read_jpeg(stream.get(), what);
  if (!pixels) return Error{pixels.error().code, fmt::format("{}: {}", file, pixels.error().message)};
  return pixels;
}

// Between which two pixels of the original a new one lies, and how much of the second it takes.
struct Between {
  std::size_t first, second;
  float part;
};

// The middles of the outermost pixels are the edge; beyond it the outermost counts.
std::vector<Between> between(std::uint32_t from, std::uint32_t to) {
  std::vector<Between> places(to);
  const float step = static_cast<float>(from) / static_cast<float>(to);
  for (std::uint32_t i = 0; i < to; ++i) {
    const float at = std::clamp((static_cast<float>(i) + 0.5F) * step - 0.5F, 0.0F, static_cast<float>(from - 1));
    const auto first = static_cast<std::size_t>(at);
    places[i] = {first, std::min<std::size_t>(first + 1, from - 1), at - static_cast<float>(first)};
  }
  return places;
}

float mixed(float a, float b, float part) { return a + (b - a) * part; }

}  // namespace

Result<Pixels> read_image(const std::string& file) { return read_either(file, Read::all); }
Result<Pixels> read_image_header(const std::string& file) { return read_either(file, Read::header); }

Status check_size(const Pixels& header) {
  if (std::uint64_t{header.height} * header.width <= kMaxPixels) return {};
  return Error{Code::corrupt, fmt::format("{}x{} pixels, but at most {} are read: scale it down first", header.height,
                                          header.width, kMaxPixels)};
}

std::vector<std::uint8_t> planes_of(std::span<const std::uint8_t> interleaved, std::uint32_t channels) {
  std::vector<std::uint8_t> planes(interleaved.size());
  auto to = planes.begin();
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::size_t i = channel; i < interleaved.size(); i += channels) *to++ = interleaved[i];
  }
  return planes;
}

Pixels scaled(const Pixels& image, std::uint32_t height, std::uint32_t width) {
  Pixels result{image.channels, height, width, {}};
  result.planes.reserve(std::size_t{image.channels} * height * width);
  const auto rows = between(image.height, height), columns = between(image.width, width);
  for (std::uint32_t channel = 0; channel < image.channels; ++channel) {
    const auto* plane = image.planes.data() + std::size_t{channel} * image.height * image.width;
    for (const auto& y : rows) {
      const auto *upper = plane + y.first * image.width, *lower = plane + y.second * image.width;
      for (const auto& x : columns) {
        const float above = mixed(upper[x.first], upper[x.second], x.part);
        const float below = mixed(lower[x.first], lower[x.second], x.part);
        result.planes.push_back(static_cast<std::uint8_t>(std::lround(mixed(above, below, y.part))));
      }
    }
  }
  return result;
}

}  // namespace yoke::data
