#include "data/image_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace yoke::data {
namespace {

constexpr std::uint64_t kLearnFrom = 1000;

// Gray as colour: three times the same plane.
void colour(Pixels& image) {
  const auto plane = image.planes;
  for (; image.channels < 3; ++image.channels) image.planes.insert(image.planes.end(), plane.begin(), plane.end());
}

}  // namespace

ImageSource::ImageSource(Schema schema, std::vector<LabelledImage> images, bool scale)
    : schema_(std::move(schema)), images_(std::move(images)), scale_(scale) {}

Result<Pixels> ImageSource::read(const std::string& file) const {
  auto image = read_image(file);
  if (!image) return image;
  const auto height = static_cast<std::uint32_t>(schema_.shape[1]),
             width = static_cast<std::uint32_t>(schema_.shape[2]);
  const bool fits = image->height == height && image->width == width;
  if (image->channels > schema_.shape[0] || (!fits && !scale_)) {
    return Error{Code::corrupt, fmt::format("{}: has changed since the folder was opened: start again", file)};
  }
  if (!fits) image = scaled(*image, height, width);
  if (image->channels < schema_.shape[0]) colour(*image);
  return image;
}

Result<Normalisation> ImageSource::learn(std::span<const std::uint64_t> samples) const {
  if (samples.empty()) return Error{Code::invalid_argument, "no samples to learn mean and deviation from"};
  const auto used = std::min<std::uint64_t>(samples.size(), kLearnFrom);
  std::uint64_t sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < used; ++i) {
    const auto image = read(images_[samples[i * samples.size() / used]].file);
    if (!image) return image.error();
    for (std::uint64_t byte : image->planes) {
      sum += byte;
      squares += byte * byte;
    }
  }
  const auto count = static_cast<double>(used) * static_cast<double>(schema_.width());
  const double mean = static_cast<double>(sum) / count;
  const double variance = static_cast<double>(squares) / count - mean * mean;
  // What bytes that differ at all make is far above this; less is rounding.
  const double deviation = variance > 1e-9 ? std::sqrt(variance) : 1;
  return Normalisation{{static_cast<float>(mean)}, {static_cast<float>(deviation)}, {}, {}};
}

Status ImageSource::fill(std::span<const std::uint64_t> samples, const Normalisation& normalisation,
                         Batch& batch) const {
  batch = {};
  batch.size = samples.size();
  batch.features.reserve(samples.size() * static_cast<std::size_t>(schema_.width()));
  for (auto sample : samples) {
    const auto image = read(images_[sample].file);
    if (!image) return image.error();
    for (std::size_t i = 0; i < image->planes.size(); ++i) {
      batch.features.push_back(normalisation.feature(image->planes[i], i));
    }
    batch.classes.push_back(images_[sample].label);
  }
  return {};
}

}  // namespace yoke::data
