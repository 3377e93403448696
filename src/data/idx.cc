#include "data/idx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "data/file.h"

namespace yoke::data {
namespace {

constexpr std::uint32_t kImagesMagic = 0x00000803;
constexpr std::uint32_t kLabelsMagic = 0x00000801;

struct Idx {
  std::vector<std::uint32_t> extents;
  std::vector<std::uint8_t> elements;
};

Error corrupt(const std::string& file, const std::string& why) { return {Code::corrupt, file + ": " + why}; }

std::uint32_t big_endian(const std::uint8_t* at) {
  return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | std::uint32_t{at[3]};
}

Result<Idx> read(const std::string& file, std::uint32_t magic, const char* what) {
  auto bytes = read_file(file);
  if (!bytes) return bytes.error();
  const std::size_t dimensions = magic & 0xff;
  const std::size_t header = 4 * (1 + dimensions);
  if (bytes->size() < header) {
    return corrupt(file,
                   fmt::format("{} bytes are no idx file of {}: the header alone has {}", bytes->size(), what, header));
  }
  if (const auto found = big_endian(bytes->data()); found != magic) {
    return corrupt(file, fmt::format("magic is {:08x}, but that of {} is {:08x}", found, what, magic));
  }
  Idx idx;
  const std::uint64_t length = bytes->size() - header;
  std::uint64_t wanted = 1;
  for (std::size_t d = 1; d <= dimensions; ++d) {
    const auto extent = idx.extents.emplace_back(big_endian(bytes->data() + 4 * d));
    if (extent == 0) return corrupt(file, fmt::format("dimension {} is 0: there are no {}", d, what));
    // Once it is past the length it stays so; not multiplying on keeps the product from wrapping around.
    if (wanted <= length) wanted *= extent;
  }
  if (wanted != length) {
    return corrupt(file, fmt::format("dimensions {} do not fit the {} bytes of {} that follow",
                                     fmt::join(idx.extents, "x"), length, what));
  }
  bytes->erase(bytes->begin(), bytes->begin() + static_cast<std::ptrdiff_t>(header));
  idx.elements = std::move(*bytes);
  return idx;
}

}  // namespace

Result<Images> read_idx_images(const std::string& file) {
  auto idx = read(file, kImagesMagic, "images");
  if (!idx) return idx.error();
  return Images{idx->extents[0], idx->extents[1], idx->extents[2], std::move(idx->elements)};
}

Result<std::vector<std::uint8_t>> read_idx_labels(const std::string& file) {
  auto idx = read(file, kLabelsMagic, "labels");
  if (!idx) return idx.error();
  return std::move(idx->elements);
}

Result<Dataset> read_idx(const std::string& images_file, const std::string& labels_file, std::uint32_t classes) {
  auto images = read_idx_images(images_file);
  if (!images) return images.error();
  auto labels = read_idx_labels(labels_file);
  if (!labels) return labels.error();
  if (labels->size() != images->count) {
    return corrupt(labels_file,
                   fmt::format("{} labels for the {} images of {}", labels->size(), images->count, images_file));
  }
  const auto bad = std::find_if(labels->begin(), labels->end(), [=](auto label) { return label >= classes; });
  if (bad != labels->end()) {
    return corrupt(labels_file, fmt::format("label {} of sample {} is not below the {} classes", *bad,
                                            bad - labels->begin(), classes));
  }
  Dataset set;
  set.shape = {1, images->rows, images->columns};
  set.classes = classes;
  set.bytes = std::move(images->pixels);
  set.labels = std::move(*labels);
  return set;
}

}  // namespace yoke::data
