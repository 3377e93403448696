// Image files, by what they begin with.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "data/images.h"

namespace yoke::data {

// As read_image, but only as much of the file as tells channels, height and width; there are no planes.
Result<Pixels> read_image_header(const std::string& file);

enum class Read { header, all };

// One kind of file each, from its beginning. Errors do not name the file; a build without the library says so.
Result<Pixels> read_png(std::FILE* file, Read what);
Result<Pixels> read_jpeg(std::FILE* file, Read what);

// An error if the image is larger than is read.
Status check_size(const Pixels& header);
// What the libraries give, channel beside channel, as planes.
std::vector<std::uint8_t> planes_of(std::span<const std::uint8_t> interleaved, std::uint32_t channels);

}  // namespace yoke::data
