#include "data/byte_images.h"

#include <cmath>
#include <numeric>

#include "data/expect_error.h"

namespace yoke::data {
namespace {

ByteImages noise(std::uint64_t size, std::uint32_t height, std::uint32_t width) {
  std::vector<std::uint8_t> bytes(size * height * width), labels(size);
  std::uint32_t state = 7;
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  return {image_schema("", height, width, numbered(1), nullptr).value(), bytes, labels};
}

TEST(ByteImages, LearnsFromTheSamplesItIsGiven) {
  const auto images = noise(50, 3, 7);  // 21 pixels: no multiple of what is counted at a time
  const std::vector<std::uint64_t> samples{0, 3, 4, 5, 11, 49};
  Batch raw, normal;
  ASSERT_TRUE(images.fill(samples, {}, raw).ok());
  double mean = 0, squares = 0;
  for (double x : raw.features) mean += x / double(raw.features.size());
  for (double x : raw.features) squares += (x - mean) * (x - mean) / double(raw.features.size());
  const auto learnt = images.learn(samples);
  ASSERT_TRUE(learnt.ok());
  ASSERT_EQ(learnt->mean.size(), 1U);
  EXPECT_NEAR(learnt->mean[0], mean, 1e-4);
  EXPECT_NEAR(learnt->deviation.at(0), std::sqrt(squares), 1e-4);

  ASSERT_TRUE(images.fill(samples, *learnt, normal).ok());
  EXPECT_EQ(normal.size, samples.size());
  ASSERT_EQ(normal.features.size(), raw.features.size());
  for (std::size_t i = 0; i < raw.features.size(); ++i) {
    EXPECT_EQ(normal.features[i], (raw.features[i] - learnt->mean[0]) / learnt->deviation[0]);
  }
}

TEST(ByteImages, NormalisesEveryPixelByItsOwnWhereThereAreSoMany) {
  const ByteImages images(image_schema("", 1, 2, numbered(2), nullptr).value(), {10, 20, 30, 40}, {1, 0});
  const Normalisation own{{10, 20}, {1, 10}, {}, {}};
  Batch batch;
  ASSERT_TRUE(images.fill(std::vector<std::uint64_t>{1, 0}, own, batch).ok());
  EXPECT_EQ(batch.features, (std::vector<float>{20, 2, 0, 0}));
  EXPECT_EQ(batch.classes, (std::vector<std::int64_t>{0, 1}));
}

TEST(ByteImages, AConstantHasTheDeviationOne) {
  const ByteImages images(image_schema("", 2, 2, numbered(1), nullptr).value(), {9, 9, 9, 9, 9, 9, 9, 8}, {0, 0});
  const auto learnt = images.learn(std::vector<std::uint64_t>{0}).value();
  EXPECT_EQ(learnt.mean, std::vector<float>{9});
  EXPECT_EQ(learnt.deviation, std::vector<float>{1});
  EXPECT_NEAR(images.learn(std::vector<std::uint64_t>{0, 1}).value().deviation[0], std::sqrt(7.0) / 8, 1e-6);
  expect_error(images.learn({}), Code::invalid_argument, {"no samples"});
}

TEST(ByteImages, FitsAModelOrSaysWhyNot) {
  const std::vector<std::string> names{"shoe", "shirt"};
  const auto fit = [&](const Schema& like, std::vector<std::string> labels) {
    return image_schema("set", 2, 3, std::move(labels), &like);
  };
  const auto like = image_schema("", 2, 3, names, nullptr).value();
  EXPECT_EQ(fit(like, names).value(), like);
  EXPECT_EQ(fit(like, numbered(2)).value(), like);
  EXPECT_EQ(fit(like, numbered(1)).value(), like);
  expect_error(fit(like, numbered(3)), Code::invalid_argument, {"set: ", "3 classes", "the model gives 2 classes"});
  expect_error(fit(like, {"shirt", "shoe"}), Code::invalid_argument, {"set: ", "shirt, shoe", "shoe, shirt"});
  auto other = like;
  other.shape = {1, 3, 2};
  expect_error(fit(other, names), Code::invalid_argument, {"set: ", "1x2x3", "1x3x2 features"});
  other = like;
  other.tokens = true;
  expect_error(fit(other, names), Code::invalid_argument, {"characters"});
  other = like;
  other.task = Task::values;
  expect_error(fit(other, names), Code::invalid_argument, {"2 values"});
}

}  // namespace
}  // namespace yoke::data
