#include "data/idx.h"

#include <gtest/gtest.h>

#include <numeric>

#include "data/file.h"
#include "data/scratch_folder.h"

namespace yoke::data {
namespace {

constexpr std::uint32_t kImages = 0x803, kLabels = 0x801;

// The error must be of this kind, and name both the file and what is wrong.
template <class T>
void expect_error(const Result<T>& result, Code code, const std::string& file, const std::string& words) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code);
  EXPECT_NE(result.error().message.find(file), std::string::npos) << result.error().message;
  EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
}

TEST(Idx, ReadsPlainAndGzip) {
  ScratchFolder folder;
  const auto content = idx_content({kImages, 2, 3, 4}, 24);
  for (const auto& file : {folder.plain("images", content), folder.gzip("images.gz", content)}) {
    auto images = read_idx_images(file);
    ASSERT_TRUE(images.ok()) << images.error().message;
    EXPECT_EQ(images->count, 2U);
    EXPECT_EQ(images->rows, 3U);
    EXPECT_EQ(images->columns, 4U);
    std::vector<std::uint8_t> expected(24);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(images->pixels, expected);
  }
}

TEST(Idx, PutsImagesAndLabelsTogether) {
  ScratchFolder folder;
  auto set = read_idx(folder.plain("images", idx_content({kImages, 3, 1, 2}, 6)),
                      folder.plain("labels", idx_content({kLabels, 3}, 3)), 3);
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_EQ(set->size(), 3U);
  EXPECT_EQ(set->width(), 2U);
  EXPECT_EQ(set->shape, (std::vector<std::int64_t>{1, 1, 2}));

  set->scale = 2;
  set->shift = -1;
  const std::vector<std::uint64_t> samples{2, 0};
  std::vector<float> x(4);
  std::vector<std::int64_t> y(2);
  ASSERT_TRUE(set->copy(samples, x.data(), y.data()).ok());
  EXPECT_EQ(x, (std::vector<float>{7, 9, -1, 1}));
  EXPECT_EQ(y, (std::vector<std::int64_t>{2, 0}));

  set->name = "made up";
  const std::vector<std::uint64_t> beyond{1, 3};
  const auto refused = set->copy(beyond, x.data(), y.data());
  expect_error(refused, Code::invalid_argument, "made up", "no sample 3");
  EXPECT_EQ(y, (std::vector<std::int64_t>{2, 0})) << "a refused copy wrote";
}

TEST(Idx, RefusesWhatIsNoIdxFile) {
  ScratchFolder folder;
  expect_error(read_idx_images(folder.path() + "/none"), Code::invalid_argument, "/none", "No such file");
  expect_error(read_idx_images(folder.path()), Code::corrupt, folder.path(), "directory");
  expect_error(read_idx_images(folder.plain("empty", "")), Code::corrupt, "/empty", "0 bytes");
  expect_error(read_idx_images(folder.plain("short", idx_content({kImages, 2, 3}, 0))), Code::corrupt, "/short",
               "header");
  expect_error(read_idx_images(folder.plain("l", idx_content({kLabels, 12}, 12))), Code::corrupt, "/l",
               "magic is 00000801");
  expect_error(read_idx_labels(folder.plain("i", idx_content({kImages, 1, 1, 1}, 1))), Code::corrupt, "/i", "magic");
}

TEST(Idx, RefusesSizesThatDoNotFitTheLength) {
  ScratchFolder folder;
  const auto images = [&](std::initializer_list<std::uint32_t> header, std::size_t length) {
    return read_idx_images(folder.gzip("f.gz", idx_content(header, length)));
  };
  expect_error(images({kImages, 0, 3, 4}, 0), Code::corrupt, "/f.gz", "dimension 1 is 0");
  expect_error(images({kImages, 2, 3, 0}, 0), Code::corrupt, "/f.gz", "dimension 3 is 0");
  expect_error(images({kImages, 2, 3, 4}, 23), Code::corrupt, "/f.gz", "2x3x4 do not fit the 23 bytes");
  expect_error(images({kImages, 2, 3, 4}, 25), Code::corrupt, "/f.gz", "25 bytes");
  // Sizes no machine has, and sizes whose product wraps around to what is there.
  expect_error(images({kImages, 0xffffffff, 0xffffffff, 0xffffffff}, 24), Code::corrupt, "/f.gz", "do not fit");
  expect_error(images({kImages, 0x80000000, 0x80000000, 4}, 0), Code::corrupt, "/f.gz", "do not fit");
}

TEST(Idx, RefusesLabelsThatDoNotFitTheImages) {
  ScratchFolder folder;
  const auto images = folder.plain("images", idx_content({kImages, 3, 1, 2}, 6));
  expect_error(read_idx(images, folder.plain("labels", idx_content({kLabels, 2}, 2)), 3), Code::corrupt, "/labels",
               "2 labels for the 3 images");
  expect_error(read_idx(images, folder.plain("labels", idx_content({kLabels, 3}, 3)), 2), Code::corrupt, "/labels",
               "label 2 of sample 2");
}

TEST(File, RefusesGzipThatIsCutOffOrDamagedOrTooLong) {
  ScratchFolder folder;
  std::string noise;
  for (std::uint32_t i = 0, state = 1; i < 100'000; ++i)
    noise += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  std::ifstream in(folder.gzip("whole.gz", noise), std::ios::binary);
  const std::string packed((std::istreambuf_iterator<char>(in)), {});

  EXPECT_EQ(read_file(folder.path() + "/whole.gz", noise.size()).value().size(), noise.size());
  expect_error(read_file(folder.path() + "/whole.gz", noise.size() - 1), Code::corrupt, "/whole.gz",
               "limit of 99999 bytes");
  expect_error(read_file(folder.plain("cut.gz", packed.substr(0, packed.size() / 2))), Code::corrupt, "/cut.gz",
               "unexpected end");
  auto flipped = packed;
  flipped[flipped.size() / 2] ^= 1;
  expect_error(read_file(folder.plain("flipped.gz", flipped)), Code::corrupt, "/flipped.gz", "");
}

}  // namespace
}  // namespace yoke::data
