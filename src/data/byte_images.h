// Images of bytes, held in memory: a quarter of what floats would take.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace yoke::data {

// The names of classes that have none: "0", "1" and so on.
std::vector<std::string> numbered(std::size_t classes);

// Gray images of this size and these classes; with `like` its schema, where that fits: images of its size, and classes
// of its names. Classes that are only numbered fit any names, if there are enough. Errors begin with `where`.
Result<Schema> image_schema(const std::string& where, std::uint32_t height, std::uint32_t width,
                            std::vector<std::string> labels, const Schema* like);

// Features are the bytes as they are; they are normalised by one mean and one deviation for all pixels.
class ByteImages : public Source {
 public:
  // `bytes`: labels.size() images of schema.width() bytes; labels are below schema.outputs.
  ByteImages(Schema schema, std::vector<std::uint8_t> bytes, std::vector<std::uint8_t> labels);

  const Schema& schema() const override { return schema_; }
  std::uint64_t size() const override { return labels_.size(); }
  Result<Normalisation> learn(std::span<const std::uint64_t> samples) const override;
  Status fill(std::span<const std::uint64_t> samples, const Normalisation& normalisation, Batch& batch) const override;

 private:
  std::span<const std::uint8_t> image(std::uint64_t sample) const { return {&bytes_[sample * width_], width_}; }

  Schema schema_;
  std::uint64_t width_;
  std::vector<std::uint8_t> bytes_, labels_;
};

}  // namespace yoke::data
