#include "data/image_files.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <iterator>

#include "data/expect_error.h"
#include "data/image_writer.h"
#include "data/scratch_folder.h"

namespace yoke::data {
namespace {

// Height and width are 2 and 3; the header says the same as the whole.
[[maybe_unused]] void expect_planes(const std::string& file, std::uint32_t channels, const Bytes& planes) {
  for (auto read : {read_image_header, read_image}) {
    const auto image = read(file);
    ASSERT_TRUE(image.ok()) << image.error().message;
    EXPECT_EQ(image->channels, channels);
    EXPECT_EQ(image->height, 2U);
    EXPECT_EQ(image->width, 3U);
    if (read == read_image)
      EXPECT_EQ(image->planes, planes);
    else
      EXPECT_TRUE(image->planes.empty());
  }
}

[[maybe_unused]] std::string content(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

using Reader = Result<Pixels> (*)(std::FILE* file, Read what);

[[maybe_unused]] Result<Pixels> read_memory(Reader reader, std::string bytes) {
  std::FILE* stream = fmemopen(bytes.data(), bytes.size(), "rb");
  auto image = reader(stream, Read::all);
  std::fclose(stream);
  return image;
}

// With any one byte changed it is an image or an error, and nothing worse; cut off anywhere it is an error.
[[maybe_unused]] void expect_no_harm(Reader reader, const std::string& whole, std::size_t needed) {
  ASSERT_TRUE(read_memory(reader, whole).ok());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(i == 0 || i >= needed || !read_memory(reader, whole.substr(0, i)).ok()) << i;
    for (char bits : {'\x01', '\x80', '\xff'}) {
      auto changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ bits);
      const auto image = read_memory(reader, changed);
      EXPECT_TRUE(!image || image->planes.size() == std::size_t{image->channels} * image->height * image->width);
    }
  }
}

TEST(ImageFiles, RefusesWhatIsNoImage) {
  ScratchFolder folder;
  expect_error(read_image(folder.path() + "/none.png"), Code::missing, {"/none.png", "No such file"});
  expect_error(read_image(folder.path()), Code::corrupt, {folder.path(), "no png or jpeg"});
  expect_error(read_image(folder.plain("empty.png", "")), Code::corrupt, {"/empty.png", "no png or jpeg"});
  expect_error(read_image_header(folder.plain("text.jpg", "not at all")), Code::corrupt,
               {"/text.jpg", "no png or jpeg"});
}

TEST(ImageFiles, ScalesBilinearly) {
  EXPECT_EQ(scaled({1, 1, 2, {0, 100}}, 2, 4).planes, (Bytes{0, 25, 75, 100, 0, 25, 75, 100}));
  const Pixels square{1, 4, 4, {0, 4, 8, 8, 4, 8, 8, 8, 1, 1, 200, 201, 1, 2, 202, 203}};
  EXPECT_EQ(scaled(square, 2, 2).planes, (Bytes{4, 8, 1, 202}));  // means of 4, 8, 1.25, 201.5
  EXPECT_EQ(scaled(square, 4, 4).planes, square.planes);
  const auto colour = scaled({3, 2, 1, {0, 100, 50, 50, 255, 0}}, 1, 2);
  EXPECT_EQ(colour.planes, (Bytes{50, 50, 50, 50, 128, 128}));
  EXPECT_EQ(colour.height, 1U);
  EXPECT_EQ(colour.width, 2U);
  EXPECT_EQ(scaled({1, 1, 1, {7}}, 3, 2).planes, Bytes(6, 7));
}

#ifdef YOKE_PNG

TEST(ImageFiles, ReadsPngOfEveryKind) {
  ScratchFolder folder;
  const auto file = folder.path() + "/a";  // no ending
  expect_planes(write_png(file, 2, 3, {0, 1, 2, 100, 200, 255}), 1, {0, 1, 2, 100, 200, 255});
  expect_planes(write_png(file, 2, 3, {0b10100000, 0b01000000}, PNG_COLOR_TYPE_GRAY, 1), 1, {255, 0, 255, 0, 255, 0});
  expect_planes(write_png(file, 2, 3, {0, 0, 1, 1, 2, 2, 100, 100, 200, 200, 255, 255}, PNG_COLOR_TYPE_GRAY, 16), 1,
                {0, 1, 2, 100, 200, 255});
  Bytes rgb(18), rgb16(36);
  for (std::size_t i = 0; i < 18; ++i) rgb[i] = rgb16[2 * i] = rgb16[2 * i + 1] = static_cast<std::uint8_t>(14 * i);
  const Bytes planes{0, 42, 84, 126, 168, 210, 14, 56, 98, 140, 182, 224, 28, 70, 112, 154, 196, 238};
  expect_planes(write_png(file, 2, 3, rgb, PNG_COLOR_TYPE_RGB), 3, planes);
  expect_planes(write_png(file, 2, 3, rgb16, PNG_COLOR_TYPE_RGB, 16), 3, planes);
  expect_planes(write_png(file, 2, 3, {0, 1, 2, 2, 1, 0}, PNG_COLOR_TYPE_PALETTE, 8, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}),
                3, {1, 4, 7, 7, 4, 1, 2, 5, 8, 8, 5, 2, 3, 6, 9, 9, 6, 3});
  // Black shows through where nothing is.
  expect_planes(write_png(file, 2, 3, {9, 255, 9, 0, 80, 255, 80, 0, 255, 255, 255, 0}, PNG_COLOR_TYPE_GRAY_ALPHA), 1,
                {9, 0, 80, 0, 255, 0});
  Bytes rgba;
  for (std::uint8_t i = 0; i < 6; ++i)
    rgba.insert(rgba.end(), {i, 100, 200, static_cast<std::uint8_t>(i < 3 ? 255 : 0)});
  expect_planes(write_png(file, 2, 3, rgba, PNG_COLOR_TYPE_RGB_ALPHA), 3,
                {0, 1, 2, 0, 0, 0, 100, 100, 100, 0, 0, 0, 200, 200, 200, 0, 0, 0});
}

TEST(ImageFiles, RefusesDamagedAndGiganticPng) {
  ScratchFolder folder;
  const auto whole = content(write_png(folder.path() + "/a.png", 4, 4, Bytes(48, 77), PNG_COLOR_TYPE_RGB));
  expect_no_harm(read_png, whole, whole.size() - 12);  // all but the empty chunk at the end
  expect_error(read_image(folder.plain("cut.png", whole.substr(0, whole.size() - 20))), Code::corrupt,
               {"/cut.png", "damaged png"});
  auto large = whole;  // bytes 12 to 29 are the first chunk's name, width, height and more, then comes their checksum
  for (std::size_t at : {16U, 20U}) large.replace(at, 4, std::string("\x00\x00\x27\x10", 4));
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(large.data()) + 12, 17);
  for (std::size_t i = 0; i < 4; ++i) large[29 + i] = static_cast<char>(sum >> (24 - 8 * i));
  for (auto read : {read_image, read_image_header}) {
    expect_error(read(folder.plain("large.png", large)), Code::corrupt, {"/large.png", "10000x10000 pixels"});
  }
}

#else

TEST(ImageFiles, SaysThatThisBuildReadsNoPng) {
  ScratchFolder folder;
  expect_error(read_image(folder.plain("a.png", "\x89PNG\r\n\x1a\n...")), Code::unsupported,
               {"/a.png", "reads no png"});
}

#endif

#ifdef YOKE_JPEG

TEST(ImageFiles, ReadsJpegGrayAndColour) {
  ScratchFolder folder;
  const auto file = folder.path() + "/a.png";  // a wrong ending
  expect_planes(write_jpeg(file, 2, 3, Bytes(6, 130)), 1, Bytes(6, 130));
  Bytes rgb;
  for (int i = 0; i < 6; ++i) rgb.insert(rgb.end(), {250, 130, 20});
  const auto image = read_image(write_jpeg(file, 2, 3, rgb, JCS_RGB, 3));
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->channels, 3U);
  ASSERT_EQ(image->planes.size(), 18U);
  for (std::size_t i = 0; i < 18; ++i) EXPECT_NEAR(image->planes[i], rgb[i / 6], 3) << i;
}

TEST(ImageFiles, RefusesDamagedAndGiganticJpeg) {
  ScratchFolder folder;
  Bytes noise(256);
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<std::uint8_t>(i * i * 7);
  const auto whole = content(write_jpeg(folder.path() + "/a.jpg", 16, 16, noise));
  expect_no_harm(read_jpeg, whole, whole.size());
  expect_error(read_image(folder.plain("cut.jpg", whole.substr(0, whole.size() - 20))), Code::corrupt,
               {"/cut.jpg", "damaged jpeg"});
  EXPECT_TRUE(read_image_header(folder.path() + "/cut.jpg").ok());
  auto large = whole;
  const auto frame = large.find("\xff\xc0");  // then 2 bytes of length, 1 of bits, height, width
  large.replace(frame + 5, 4, "\x40\x40\x40\x40");
  expect_error(read_image_header(folder.plain("large.jpg", large)), Code::corrupt,
               {"/large.jpg", "16448x16448 pixels"});
  expect_error(read_image_header(write_jpeg(folder.path() + "/print.jpg", 2, 3, Bytes(24, 9), JCS_CMYK, 4)),
               Code::unsupported, {"/print.jpg", "CMYK"});
}

#else

TEST(ImageFiles, SaysThatThisBuildReadsNoJpeg) {
  ScratchFolder folder;
  expect_error(read_image(folder.plain("a.jpg", "\xff\xd8\xff\xe0...")), Code::unsupported,
               {"/a.jpg", "reads no jpeg"});
}

#endif

}  // namespace
}  // namespace yoke::data
