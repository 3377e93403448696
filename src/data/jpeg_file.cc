#include "data/image_files.h"

#ifdef YOKE_JPEG
#include <fmt/format.h>
#include <setjmp.h>
// jpeglib.h needs FILE, and jerror.h's numbers depend on jpeglib.h.
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on
#endif

namespace yoke::data {

#ifdef YOKE_JPEG

namespace {

struct Jpeg {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jmp_buf failed;
  char message[JMSG_LENGTH_MAX] = {};

  Jpeg();
  ~Jpeg() { jpeg_destroy_decompress(&info); }
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;

  Error damaged() const { return {Code::corrupt, fmt::format("damaged jpeg ({}): replace it", message)}; }
};

// libjpeg goes on from here only by a jump to the last setjmp.
[[noreturn]] void fail(j_common_ptr info) {
  auto& jpeg = *static_cast<Jpeg*>(info->client_data);
  info->err->format_message(info, jpeg.message);
  longjmp(jpeg.failed, 1);
}

// libjpeg takes missing pixels for a matter of taste, and fills in gray.
void warn(j_common_ptr info, int level) {
  if (level >= 0) return;
  switch (info->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
      fail(info);
    default:
      return;
  }
}

Jpeg::Jpeg() {
  info.err = jpeg_std_error(&errors);
  info.client_data = this;
  errors.error_exit = fail;
  errors.emit_message = warn;
}

// A jump skips destructors: the two functions below have nothing to destroy.

bool read_header(Jpeg& jpeg, std::FILE* file) {
  if (setjmp(jpeg.failed) != 0) return false;
  jpeg_create_decompress(&jpeg.info);
  jpeg_stdio_src(&jpeg.info, file);
  jpeg_read_header(&jpeg.info, TRUE);
  return true;
}

bool read_rows(Jpeg& jpeg, std::uint8_t* rows, std::size_t row_bytes) {
  if (setjmp(jpeg.failed) != 0) return false;
  jpeg_start_decompress(&jpeg.info);
  while (jpeg.info.output_scanline < jpeg.info.output_height) {
    JSAMPROW row = rows + jpeg.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&jpeg.info, &row, 1);
  }
  jpeg_finish_decompress(&jpeg.info);
  return true;
}

}  // namespace

Result<Pixels> read_jpeg(std::FILE* file, Read what) {
  Jpeg jpeg;
  if (!read_header(jpeg, file)) return jpeg.damaged();
  auto& info = jpeg.info;
  const auto space = info.jpeg_color_space;
  if (space != JCS_GRAYSCALE && space != JCS_YCbCr && space != JCS_RGB) {
    return Error{Code::unsupported, "neither gray nor RGB (perhaps for print, CMYK): convert it to RGB"};
  }
  const bool colour = space != JCS_GRAYSCALE;
  Pixels pixels{colour ? 3U : 1U, info.image_height, info.image_width, {}};
  if (auto fits = check_size(pixels); !fits) return fits.error();
  if (what == Read::header) return pixels;

  info.out_color_space = colour ? JCS_RGB : JCS_GRAYSCALE;
  const auto row_bytes = std::size_t{pixels.width} * pixels.channels;
  std::vector<std::uint8_t> rows(row_bytes * pixels.height);
  if (!read_rows(jpeg, rows.data(), row_bytes)) return jpeg.damaged();
  pixels.planes = planes_of(rows, pixels.channels);
  return pixels;
}

#else

Result<Pixels> read_jpeg(std::FILE*, Read) {
  return Error{Code::unsupported,
               "this build reads no jpeg: convert it to png, or build Yoke with libjpeg-dev installed"};
}

#endif

}  // namespace yoke::data
