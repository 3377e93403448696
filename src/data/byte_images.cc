#include "data/byte_images.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

namespace yoke::data {
namespace {

// How often each byte is there. Four counters each, in turn: neighbouring pixels are often alike, and adding to one
// counter again and again would wait for its last addition each time.
class Histogram {
 public:
  void add(std::span<const std::uint8_t> bytes) {
    while (bytes.size() >= 4) {
      ++counters_[0][bytes[0]];
      ++counters_[1][bytes[1]];
      ++counters_[2][bytes[2]];
      ++counters_[3][bytes[3]];
      bytes = bytes.subspan(4);
    }
    for (auto byte : bytes) ++counters_[0][byte];
  }
  std::uint64_t operator[](std::size_t byte) const {
    return counters_[0][byte] + counters_[1][byte] + counters_[2][byte] + counters_[3][byte];
  }

 private:
  std::array<std::array<std::uint64_t, 256>, 4> counters_{};
};

constexpr std::size_t kAhead = 4;  // samples

void fetch_ahead(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kLine = 64;
  for (std::size_t at = 0; at < bytes.size(); at += kLine) __builtin_prefetch(&bytes[at]);
}

}  // namespace

std::vector<std::string> numbered(std::size_t classes) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < classes; ++i) names.push_back(std::to_string(i));
  return names;
}

Result<Schema> image_schema(const std::string& where, std::uint32_t height, std::uint32_t width,
                            std::vector<std::string> labels, const Schema* like) {
  Schema schema;
  schema.shape = {1, height, width};
  schema.outputs = static_cast<std::int64_t>(labels.size());
  schema.labels = std::move(labels);
  if (like == nullptr) return schema;
  const auto unfit = [&](const std::string& why) { return Error{Code::invalid_argument, where + ": " + why}; };
  if (like->tokens || like->shape != schema.shape) {
    return unfit(fmt::format("its samples are images of {}, but the model takes {} {}", fmt::join(schema.shape, "x"),
                             fmt::join(like->shape, "x"), like->tokens ? "characters" : "features"));
  }
  if (like->task != Task::classes || like->outputs < schema.outputs) {
    return unfit(fmt::format("it has {} classes, but the model gives {} {}", schema.outputs, like->outputs,
                             name_of(like->task)));
  }
  if (schema.labels != like->labels && schema.labels != numbered(schema.labels.size())) {
    return unfit(fmt::format("its classes are {}, but the model's are {}", fmt::join(schema.labels, ", "),
                             fmt::join(like->labels, ", ")));
  }
  return *like;
}

ByteImages::ByteImages(Schema schema, std::vector<std::uint8_t> bytes, std::vector<std::uint8_t> labels)
    : schema_(std::move(schema)),
      width_(static_cast<std::uint64_t>(schema_.width())),
      bytes_(std::move(bytes)),
      labels_(std::move(labels)) {
  assert(bytes_.size() == labels_.size() * width_);
}

Result<Normalisation> ByteImages::learn(std::span<const std::uint64_t> samples) const {
  if (samples.empty()) return Error{Code::invalid_argument, "no samples to learn mean and deviation from"};
  Histogram histogram;
  for (auto sample : samples) histogram.add(image(sample));
  const std::uint64_t pixels = samples.size() * width_;
  std::uint64_t sum = 0, squares = 0;
  bool constant = false;
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    const auto times = histogram[byte];
    sum += times * byte;
    squares += times * byte * byte;
    constant = constant || times == pixels;
  }
  const auto n = static_cast<double>(pixels);
  const double mean = static_cast<double>(sum) / n;
  const double deviation = constant ? 1 : std::sqrt(static_cast<double>(squares) / n - mean * mean);
  return Normalisation{{static_cast<float>(mean)}, {static_cast<float>(deviation)}, {}, {}};
}

Status ByteImages::fill(std::span<const std::uint64_t> samples, const Normalisation& normalisation,
                        Batch& batch) const {
  batch = {};
  batch.size = samples.size();
  batch.features.resize(samples.size() * width_);
  batch.classes.reserve(samples.size());
  // Where all pixels are normalised alike, every byte is computed once.
  const bool alike = normalisation.mean.size() <= 1;
  std::array<float, 256> normal{};
  for (std::size_t byte = 0; alike && byte < 256; ++byte) normal[byte] = normalisation.feature(float(byte), 0);
  float* x = batch.features.data();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto sample = samples[i];
    // They lie anywhere: half of the time would be spent waiting for each one's bytes.
    if (i + kAhead < samples.size()) fetch_ahead(image(samples[i + kAhead]));
    const auto bytes = image(sample);
    if (alike) {
      x = std::transform(bytes.begin(), bytes.end(), x, [&](std::uint8_t byte) { return normal[byte]; });
    } else {
      for (std::size_t pixel = 0; pixel < width_; ++pixel) *x++ = normalisation.feature(bytes[pixel], pixel);
    }
    batch.classes.push_back(labels_[sample]);
  }
  return {};
}

}  // namespace yoke::data
