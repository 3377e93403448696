// Folders of images: a folder a class, png or jpeg, read when they are asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/open.h"

namespace yoke::data {

// One image, rows from the top, channels one after another (planes): gray has 1, colour 3.
struct Pixels {
  std::uint32_t channels = 0, height = 0, width = 0;
  std::vector<std::uint8_t> planes;
};

// Png or jpeg, whatever the file is called; gray where its header says so, else colour. Finer steps than 8 bits are
// rounded, palettes looked up, transparency is composed on black; turned as it is stored. Errors name the file: no
// image, damaged, larger than 1 << 26 pixels, a kind that this build does not read.
Result<Pixels> read_image(const std::string& file);
// Bilinear.
Pixels scaled(const Pixels& image, std::uint32_t height, std::uint32_t width);

// DIR/CLASS/*.png|jpg|jpeg, or the same below DIR/train and DIR/test. Classes in the order of their names. Gray when
// every image is, else colour. All of one size, or options.image_height and image_width say which to scale to. The
// headers of all files are read at once, so that a file that is no image is found before training begins. Without
// DIR/test, a test_share of every class is drawn, always the same. Features are the bytes as they are. With `like`,
// classes are those of that schema and images are scaled to its shape; only colour does not fit where it has gray.
Result<Opened> open_images(const std::string& folder, const OpenOptions& options, const Schema* like);

}  // namespace yoke::data
