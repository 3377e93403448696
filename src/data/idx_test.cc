#include "data/idx.h"

#include <numeric>

#include "data/expect_error.h"
#include "data/scratch_folder.h"

namespace yoke::data {
namespace {

constexpr std::uint32_t kImages = 0x803, kLabels = 0x801;

std::vector<std::uint8_t> bytes(std::initializer_list<std::uint32_t> header, std::size_t length) {
  const auto content = idx_content(header, length);
  return {content.begin(), content.end()};
}

Result<Idx> images(std::initializer_list<std::uint32_t> header, std::size_t length) {
  return parse_idx(bytes(header, length), IdxKind::images);
}

// Three training images of 1x2 with the labels 0 to 2, two test images with 0 and 1.
void write_set(const ScratchFolder& folder) {
  folder.plain("train-images-idx3-ubyte", idx_content({kImages, 3, 1, 2}, 6));
  folder.gzip("train-labels-idx1-ubyte.gz", idx_content({kLabels, 3}, 3));
  folder.gzip("t10k-images-idx3-ubyte.gz", idx_content({kImages, 2, 1, 2}, 4));
  folder.plain("t10k-labels-idx1-ubyte", idx_content({kLabels, 2}, 2));
}

TEST(Idx, ReadsImagesAndLabels) {
  auto idx = images({kImages, 2, 3, 4}, 24);
  ASSERT_TRUE(idx.ok()) << idx.error().message;
  EXPECT_EQ(idx->extents, (std::vector<std::uint32_t>{2, 3, 4}));
  std::vector<std::uint8_t> expected(24);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(idx->elements, expected);
  EXPECT_EQ(parse_idx(bytes({kLabels, 2}, 2), IdxKind::labels).value().elements, (std::vector<std::uint8_t>{0, 1}));
}

TEST(Idx, RefusesWhatIsNoIdxFile) {
  expect_error(images({}, 0), Code::corrupt, {"0 bytes"});
  expect_error(images({kImages, 2, 3}, 0), Code::corrupt, {"12 bytes", "the header alone has 16"});
  expect_error(images({kLabels, 12}, 12), Code::corrupt, {"magic is 00000801"});
  expect_error(parse_idx(bytes({kImages, 1, 1, 1}, 1), IdxKind::labels), Code::corrupt, {"magic is 00000803"});
}

TEST(Idx, RefusesSizesThatDoNotFitTheLength) {
  expect_error(images({kImages, 0, 3, 4}, 0), Code::corrupt, {"dimension 1 is 0"});
  expect_error(images({kImages, 2, 3, 0}, 0), Code::corrupt, {"dimension 3 is 0"});
  expect_error(images({kImages, 2, 3, 4}, 23), Code::corrupt, {"2x3x4 do not fit the 23 bytes"});
  expect_error(images({kImages, 2, 3, 4}, 25), Code::corrupt, {"25 bytes"});
  // Sizes no machine has, and sizes whose product wraps around to what is there.
  expect_error(images({kImages, 0xffffffff, 0xffffffff, 0xffffffff}, 24), Code::corrupt, {"do not fit"});
  expect_error(images({kImages, 0x80000000, 0x80000000, 4}, 0), Code::corrupt, {"do not fit"});
}

TEST(Idx, OpensTrainingSamplesThenTestSamples) {
  ScratchFolder folder;
  write_set(folder);
  const auto opened = open_idx(folder.path() + "/", "", nullptr);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(folder.path().substr(folder.path().rfind('/') + 1), opened->name);
  EXPECT_EQ(opened->train, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(opened->test, (std::vector<std::uint64_t>{3, 4}));
  const auto& schema = opened->source->schema();
  EXPECT_EQ(schema.shape, (std::vector<std::int64_t>{1, 1, 2}));
  EXPECT_EQ(schema.outputs, 3);
  EXPECT_EQ(schema.labels, (std::vector<std::string>{"0", "1", "2"}));
  Batch batch;
  ASSERT_TRUE(opened->source->fill(std::vector<std::uint64_t>{2, 4}, {}, batch).ok());
  EXPECT_EQ(batch.features, (std::vector<float>{4, 5, 2, 3}));
  EXPECT_EQ(batch.classes, (std::vector<std::int64_t>{2, 1}));
}

TEST(Idx, NamesWhatIsWrongInAFolder) {
  ScratchFolder folder;
  const auto open = [&](std::vector<std::string> names = {}) {
    return open_idx(folder.path(), "go and get it", nullptr, std::move(names));
  };
  expect_error(open(), Code::missing, {"/train-images-idx3-ubyte.gz is not there: go and get it"});
  write_set(folder);
  expect_error(open({"a", "b"}), Code::corrupt, {"/train-labels-idx1-ubyte.gz: label 2 of sample 2", "2 classes"});
  folder.plain("t10k-labels-idx1-ubyte", idx_content({kLabels, 3}, 3));
  expect_error(open(), Code::corrupt, {"/t10k-labels-idx1-ubyte: 3 labels for the 2 images"});
  auto label_7 = idx_content({kLabels, 2}, 2);
  label_7.back() = 7;
  folder.plain("t10k-labels-idx1-ubyte", label_7);
  expect_error(open(), Code::corrupt, {"/t10k-labels-idx1-ubyte: label 7 of sample 1", "no training sample"});
  folder.gzip("t10k-images-idx3-ubyte.gz", idx_content({kImages, 2, 2, 1}, 4));
  expect_error(open(), Code::corrupt, {folder.path(), "differ in size"});
  folder.gzip("t10k-images-idx3-ubyte.gz", "no images");
  expect_error(open(), Code::corrupt, {"/t10k-images-idx3-ubyte.gz: 9 bytes"});
}

TEST(Idx, TakesTheClassesOfAModel) {
  ScratchFolder folder;
  write_set(folder);
  Schema like;
  like.shape = {1, 1, 2};
  like.outputs = 4;
  like.labels = {"shoe", "shirt", "bag", "hat"};
  const auto opened = open_idx(folder.path(), "", &like);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema(), like);
  like.outputs = 2;
  like.labels = {"shoe", "shirt"};
  expect_error(open_idx(folder.path(), "", &like), Code::invalid_argument, {folder.path(), "3 classes", "2 classes"});
}

}  // namespace
}  // namespace yoke::data
