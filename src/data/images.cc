#include "data/images.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <utility>

#include "data/image_files.h"
#include "data/image_folders.h"
#include "data/image_source.h"
#include "data/split.h"
#include "data/test_share.h"
#include "data/wrong.h"

namespace yoke::data {
namespace {

constexpr std::uint64_t kTestImagesSeed = 0x7e57;
constexpr std::uint64_t kMaxScaledSide = 4096;

// Whether a model with this schema takes images as they are read here.
Status check_like_images(const Schema& like) {
  const auto side = [&](std::size_t i) { return like.shape[i] >= 1 && like.shape[i] <= UINT16_MAX; };
  const bool image =
      !like.tokens && like.shape.size() == 3 && (like.shape[0] == 1 || like.shape[0] == 3) && side(1) && side(2);
  if (image && like.task == Task::classes && like.outputs == static_cast<std::int64_t>(like.labels.size())) return {};
  return wrong("the model", "it was not made for images in classes: use it with data like that it was trained on");
}

Status check_scaling(const OpenOptions& options) {
  const auto height = options.image_height, width = options.image_width;
  if ((height == 0) == (width == 0) && std::max(height, width) <= kMaxScaledSide) return {};
  return wrong("image height and width", fmt::format("{} and {}, but both are from 1 to {}, or both 0 (not scaled)",
                                                     height, width, kMaxScaledSide));
}

// Appends the files of all these folders; their labels are the places of their names in `labels`.
Status append(const std::vector<ClassFolder>& folders, const std::vector<std::string>& labels, const char* whose,
              std::vector<LabelledImage>& images) {
  for (const auto& folder : folders) {
    const auto found = std::find(labels.begin(), labels.end(), folder.name);
    if (found == labels.end()) {
      return wrong(std::filesystem::path(folder.files.front()).parent_path(),
                   fmt::format("'{}' is not among the {} classes of {}: rename the folder, or take it away",
                               folder.name, labels.size(), whose));
    }
    for (const auto& file : folder.files) images.push_back({file, found - labels.begin()});
  }
  return {};
}

// Channels, height and width that all images have (gray ones can be had in colour), or can be scaled to.
Result<std::vector<std::int64_t>> shape_of(const std::vector<LabelledImage>& images, const OpenOptions& options,
                                           const Schema* like) {
  Pixels all;
  for (const auto& image : images) {
    const auto header = read_image_header(image.file);
    if (!header) return header.error();
    if (like != nullptr && header->channels > like->shape[0]) {
      return wrong(image.file, "is in colour, but the model takes gray images: convert it to gray");
    }
    if (all.channels == 0) all = *header;
    all.channels = std::max(all.channels, header->channels);
    if (like != nullptr || options.image_height != 0) continue;
    if (header->height == all.height && header->width == all.width) continue;
    return wrong(image.file, fmt::format("{}x{} pixels, but {} has {}x{}: say which image height and width to scale to",
                                         header->height, header->width, images.front().file, all.height, all.width));
  }
  if (like != nullptr) return like->shape;
  const bool scale = options.image_height != 0;
  return std::vector<std::int64_t>{all.channels, scale ? options.image_height : all.height,
                                   scale ? options.image_width : all.width};
}

// Deals the samples, which lie class by class, to train and test: of every class nearly the same share, and at least
// one is left to train on.
Status draw_test(const std::string& folder, const std::vector<ClassFolder>& classes, double share, Opened& opened) {
  const auto spare_of = [](std::uint64_t sum, const ClassFolder& one) { return sum + one.files.size() - 1; };
  const auto spare = std::accumulate(classes.begin(), classes.end(), std::uint64_t{0}, spare_of);
  auto wanted = test_samples(spare + classes.size(), share);
  if (!wanted) return wanted.error();
  if (*wanted > 0 && spare == 0) {
    return wrong(folder, "a single image in every class, none to test with: add images, or set the test share to 0");
  }
  *wanted = std::min(*wanted, spare);
  std::uint64_t first = 0, spare_so_far = 0, taken = 0;
  for (const auto& one : classes) {
    std::vector<std::uint64_t> samples(one.files.size());
    std::iota(samples.begin(), samples.end(), first);
    first += samples.size();
    spare_so_far = spare_of(spare_so_far, one);
    // What is due up to this class, rounded, less what was taken: so the rounding of classes does not add up.
    const auto due = spare == 0 ? 0 : (2 * *wanted * spare_so_far + spare) / (2 * spare);
    const auto [rest, drawn] = draw(std::move(samples), due - std::exchange(taken, due), kTestImagesSeed);
    opened.train.insert(opened.train.end(), rest.begin(), rest.end());
    opened.test.insert(opened.test.end(), drawn.begin(), drawn.end());
  }
  return {};
}

std::string short_name(const std::string& folder) {
  const auto path = std::filesystem::absolute(folder).lexically_normal();
  return path.has_filename() ? path.filename() : path.parent_path().filename();
}

}  // namespace

Result<Opened> open_images(const std::string& folder, const OpenOptions& options, const Schema* like) {
  if (auto good = like != nullptr ? check_like_images(*like) : check_scaling(options); !good) return good.error();
  const auto folders = find_images(folder);
  if (!folders) return folders.error();
  if (like == nullptr && folders->train.size() < 2) {
    return wrong(folder, fmt::format("'{}' is its only class, but it takes two to tell apart: images lie as "
                                     "DIR/CLASS/*.png, a folder a class",
                                     folders->train.front().name));
  }
  Schema schema;
  if (like != nullptr) schema = *like;
  if (like == nullptr) {
    for (const auto& one : folders->train) schema.labels.push_back(one.name);
    schema.outputs = static_cast<std::int64_t>(schema.labels.size());
  }
  std::vector<LabelledImage> images;
  const char* const whose = like != nullptr ? "the model" : "the training images";
  if (auto known = append(folders->train, schema.labels, whose, images); !known) return known.error();
  const auto first_test = images.size();
  if (auto known = append(folders->test, schema.labels, whose, images); !known) return known.error();
  auto shape = shape_of(images, options, like);
  if (!shape) return shape.error();
  schema.shape = std::move(*shape);

  Opened opened{short_name(folder), nullptr, {}, {}};
  if (folders->test.empty()) {
    if (auto drawn = draw_test(folder, folders->train, options.test_share, opened); !drawn) return drawn.error();
  } else {
    opened.train.resize(first_test);
    opened.test.resize(images.size() - first_test);
    std::iota(opened.train.begin(), opened.train.end(), 0);
    std::iota(opened.test.begin(), opened.test.end(), first_test);
  }
  const bool scale = like != nullptr || options.image_height != 0;
  opened.source = std::make_shared<ImageSource>(std::move(schema), std::move(images), scale);
  return opened;
}

}  // namespace yoke::data
