// Image files as samples: only their names are held, pixels are read when a batch is filled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/images.h"

namespace yoke::data {

struct LabelledImage {
  std::string file;
  std::int64_t label = 0;  // below the schema's outputs
};

// Features are the bytes as they are; they are normalised by one mean and one deviation for all pixels, learnt from at
// most 1,000 images. A file that has gone or changed since its header was read is an error that names it.
class ImageSource : public Source {
 public:
  // The schema's shape is {channels, height, width}. `scale`: to that size, whatever size a file has.
  ImageSource(Schema schema, std::vector<LabelledImage> images, bool scale);

  const Schema& schema() const override { return schema_; }
  std::uint64_t size() const override { return images_.size(); }
  Result<Normalisation> learn(std::span<const std::uint64_t> samples) const override;
  Status fill(std::span<const std::uint64_t> samples, const Normalisation& normalisation, Batch& batch) const override;

 private:
  // In the schema's shape.
  Result<Pixels> read(const std::string& file) const;

  Schema schema_;
  std::vector<LabelledImage> images_;
  bool scale_;
};

}  // namespace yoke::data
