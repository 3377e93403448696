#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>

namespace yoke::data {

std::uint64_t Dataset::width() const {
  std::uint64_t width = 1;
  for (auto extent : shape) width *= static_cast<std::uint64_t>(extent);
  return width;
}

Status Dataset::copy(std::span<const std::uint64_t> samples, float* x, std::int64_t* y) const {
  for (auto sample : samples) {
    if (sample < size()) continue;
    return Error{Code::invalid_argument, fmt::format("{} has {} samples: there is no sample {}", name, size(), sample)};
  }
  const auto features = width();
  for (auto sample : samples) {
    const auto* from = bytes.data() + sample * features;
    x = std::transform(from, from + features, x, [this](std::uint8_t byte) { return byte * scale + shift; });
    *y++ = labels[sample];
  }
  return {};
}

}  // namespace yoke::data
