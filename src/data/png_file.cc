#include "data/image_files.h"

#ifdef YOKE_PNG
#include <fmt/format.h>
#include <png.h>
#endif

namespace yoke::data {

#ifdef YOKE_PNG

namespace {

struct Png {
  png_image image{};
  Png() { image.version = PNG_IMAGE_VERSION; }
  ~Png() { png_image_free(&image); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;

  Error damaged() const { return {Code::corrupt, fmt::format("damaged png ({}): replace it", image.message)}; }
};

}  // namespace

Result<Pixels> read_png(std::FILE* file, Read what) {
  Png png;
  auto& image = png.image;
  if (png_image_begin_read_from_stdio(&image, file) == 0) return png.damaged();
  const bool colour = (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  Pixels pixels{colour ? 3U : 1U, image.height, image.width, {}};
  if (auto fits = check_size(pixels); !fits) return fits.error();
  if (what == Read::header) return pixels;

  image.format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // or else 16 bits would be brightened where 8 are not
  std::vector<std::uint8_t> rows(PNG_IMAGE_SIZE(image));
  const png_color black{};
  if (png_image_finish_read(&image, &black, rows.data(), 0, nullptr) == 0) return png.damaged();
  pixels.planes = planes_of(rows, pixels.channels);
  return pixels;
}

#else

Result<Pixels> read_png(std::FILE*, Read) {
  return Error{Code::unsupported,
               "this build reads no png: convert it to jpeg, or build Yoke with libpng-dev installed"};
}

#endif

}  // namespace yoke::data
