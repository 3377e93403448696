// The idx files of the MNIST family: big-endian, a magic number that gives the element type and the number of
// dimensions, the dimensions as 32-bit integers, then the elements. Gzip or plain.
//
//   images: 00 00 08 03, count, rows, columns, then count * rows * columns bytes
//   labels: 00 00 08 01, count, then count bytes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "yoke/error.h"

namespace yoke::data {

struct Images {
  std::uint32_t count = 0, rows = 0, columns = 0;
  std::vector<std::uint8_t> pixels;  // count * rows * columns
};

// Errors name the file and the field: a magic number that is not that of images (or labels), dimensions that are zero,
// or that do not fit the length of the file.
Result<Images> read_idx_images(const std::string& file);
Result<std::vector<std::uint8_t>> read_idx_labels(const std::string& file);

// Images with their labels, of `classes` classes: shape {1, rows, columns}, bytes as they are. An error also when there
// are not as many labels as images, or a label is not below `classes`.
Result<Dataset> read_idx(const std::string& images_file, const std::string& labels_file, std::uint32_t classes);

}  // namespace yoke::data
