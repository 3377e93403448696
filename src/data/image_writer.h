// For tests: png and jpeg files, written by the libraries themselves.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#ifdef YOKE_PNG
#include <png.h>
#endif
#ifdef YOKE_JPEG
#include <jpeglib.h>
#endif

namespace yoke::data {

using Bytes = std::vector<std::uint8_t>;

#ifdef YOKE_PNG
// `rows` as they stand in the file: channels beside each other, 16-bit values big-endian, palettes as indices.
inline std::string write_png(const std::string& file, std::uint32_t height, std::uint32_t width, const Bytes& rows,
                             int colour_type = PNG_COLOR_TYPE_GRAY, int bits = 8,
                             const std::vector<png_color>& palette = {}) {
  std::FILE* stream = std::fopen(file.c_str(), "wb");
  auto* png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  auto* info = png_create_info_struct(png);
  png_init_io(png, stream);
  png_set_IHDR(png, info, width, height, bits, colour_type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (!palette.empty()) png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  png_write_info(png, info);
  for (std::size_t y = 0; y < height; ++y) png_write_row(png, rows.data() + y * (rows.size() / height));
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  std::fclose(stream);
  return file;
}
#endif

#ifdef YOKE_JPEG
inline std::string write_jpeg(const std::string& file, std::uint32_t height, std::uint32_t width, Bytes rows,
                              J_COLOR_SPACE space = JCS_GRAYSCALE, int channels = 1) {
  std::FILE* stream = std::fopen(file.c_str(), "wb");
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  jpeg_stdio_dest(&info, stream);
  info.image_height = height;
  info.image_width = width;
  info.input_components = channels;
  info.in_color_space = space;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < height) {
    JSAMPROW row = rows.data() + std::size_t{info.next_scanline} * width * static_cast<std::size_t>(channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::fclose(stream);
  return file;
}
#endif

}  // namespace yoke::data
