#include "data/images.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "data/expect_error.h"
#include "data/image_writer.h"
#include "data/scratch_folder.h"

namespace yoke::data {
namespace {

namespace fs = std::filesystem;
using Numbers = std::vector<std::int64_t>;
using Samples = std::vector<std::uint64_t>;

TEST(Images, SaysHowFoldersHaveToLie) {
  ScratchFolder folder;
  const std::string layout = "DIR/CLASS/*.png";
  expect_error(open_images(folder.path() + "/none", {}, nullptr), Code::missing, {"/none", layout});
  expect_error(open_images(folder.plain("file", ""), {}, nullptr), Code::missing, {"/file", layout});
  folder.plain("loose.png", "");
  expect_error(open_images(folder.path(), {}, nullptr), Code::invalid_argument, {folder.path(), layout});
  fs::create_directories(folder.path() + "/cat/deeper");
  folder.plain("cat/.hidden.png", "");
  folder.plain("cat/notes.txt", "");
  folder.plain("cat/deeper/a.png", "");
  expect_error(open_images(folder.path(), {}, nullptr), Code::invalid_argument, {"/cat: no images", layout});
  folder.plain("cat/a.JPEG", "");
  expect_error(open_images(folder.path(), {}, nullptr), Code::invalid_argument, {"'cat' is its only class", layout});
}

#ifdef YOKE_PNG

struct ImagesTest : testing::Test {
  // A gray png of 2x2 pixels of this value; `file` is CLASS/NAME.
  std::string gray(const std::string& file, std::uint8_t value, std::uint32_t side = 2) const {
    return write_png(prepare(file), side, side, Bytes(std::size_t{side} * side, value));
  }
  std::string red(const std::string& file) const {
    return write_png(prepare(file), 1, 2, {200, 0, 0, 200, 0, 0}, PNG_COLOR_TYPE_RGB);
  }
  std::string prepare(const std::string& file) const {
    auto path = folder.path() + "/" + file;
    fs::create_directories(fs::path(path).parent_path());
    return path;
  }
  Result<Opened> open(const Schema* like = nullptr) const { return open_images(folder.path(), options, like); }

  ScratchFolder folder;
  OpenOptions options;
};

TEST_F(ImagesTest, AFolderAClass) {
  gray("dog/2.png", 20);
  gray("dog/1.PNG", 10);
  gray("cat/x.png", 30);
  gray("cat/y.png", 40);
  gray(".thumbnails/z.png", 50);
  folder.plain("cat/README", "cats");
  const auto opened = open();
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->name, fs::path(folder.path()).filename());
  EXPECT_EQ(open_images(folder.path() + "/", options, nullptr).value().name, opened->name);
  const auto& schema = opened->source->schema();
  EXPECT_EQ(schema.shape, (Numbers{1, 2, 2}));
  EXPECT_EQ(schema.labels, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(schema.outputs, 2);
  EXPECT_EQ(schema.positions, 1);
  EXPECT_FALSE(schema.tokens);
  EXPECT_EQ(schema.task, Task::classes);
  EXPECT_EQ(opened->source->size(), 4U);
  EXPECT_EQ(opened->test.size(), 1U);

  Batch batch;
  batch.tokens = {1};  // has to go
  ASSERT_TRUE(opened->source->fill(Samples{3, 0}, {}, batch).ok());
  EXPECT_EQ(batch.size, 2U);
  EXPECT_EQ(batch.features, (std::vector<float>{20, 20, 20, 20, 30, 30, 30, 30}));
  EXPECT_EQ(batch.classes, (Numbers{1, 0}));
  EXPECT_TRUE(batch.tokens.empty() && batch.values.empty());

  const auto learnt = opened->source->learn(Samples{0, 2});  // 30 and 10
  ASSERT_TRUE(learnt.ok()) << learnt.error().message;
  EXPECT_EQ(*learnt, (Normalisation{{20}, {10}, {}, {}}));
  EXPECT_EQ(opened->source->learn(Samples{1}).value(), (Normalisation{{40}, {1}, {}, {}}));
  EXPECT_FALSE(opened->source->learn({}).ok());
  ASSERT_TRUE(opened->source->fill(Samples{1}, *learnt, batch).ok());
  EXPECT_EQ(batch.features, (std::vector<float>{2, 2, 2, 2}));
}

TEST_F(ImagesTest, GrayAmongColourIsRepeatedAndSizesAreScaled) {
  gray("a/1.png", 60, 4);
  red("b/1.png");
  red("b/2.png");
  expect_error(open(), Code::invalid_argument,
               {"/b/1.png: 1x2 pixels, but ", "/a/1.png has 4x4: say which image height"});
  options.image_height = 1;
  expect_error(open(), Code::invalid_argument, {"image height and width", "1 and 0"});
  options.image_width = 4097;
  expect_error(open(), Code::invalid_argument, {"image height and width", "4096"});
  options.image_width = 2;
  const auto opened = open();
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema().shape, (Numbers{3, 1, 2}));
  Batch batch;
  ASSERT_TRUE(opened->source->fill(Samples{0, 1}, {}, batch).ok());
  EXPECT_EQ(batch.features, (std::vector<float>{60, 60, 60, 60, 60, 60, 200, 200, 0, 0, 0, 0}));
  const auto learnt = opened->source->learn(Samples{0, 1}).value();
  EXPECT_FLOAT_EQ(learnt.mean.at(0), (6 * 60 + 2 * 200) / 12.0F);
  EXPECT_FLOAT_EQ(learnt.deviation.at(0), std::sqrt((6 * 3600 + 2 * 40000) / 12.0F - learnt.mean[0] * learnt.mean[0]));
}

TEST_F(ImagesTest, LearnsFromAThousandThatLieEvenly) {
  gray("a/dark.png", 0);
  gray("b/light.png", 100);
  options.test_share = 0;
  const auto opened = open();
  ASSERT_TRUE(opened.ok());
  Samples samples(3000, 0);  // every third is looked at: of 1000, the last 200 are light
  std::fill(samples.begin() + 2400, samples.end(), 1);
  const auto learnt = opened->source->learn(samples).value();
  EXPECT_FLOAT_EQ(learnt.mean.at(0), 20);
  EXPECT_FLOAT_EQ(learnt.deviation.at(0), 40);
}

TEST_F(ImagesTest, TrainAndTestOfTheirOwn) {
  gray("train/a/1.png", 1);
  gray("train/b/1.png", 2);
  gray("train/b/2.png", 3);
  gray("test/b/9.png", 4);
  const auto opened = open();
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->train, (Samples{0, 1, 2}));
  EXPECT_EQ(opened->test, (Samples{3}));
  EXPECT_EQ(opened->source->schema().labels, (std::vector<std::string>{"a", "b"}));
  Batch batch;
  ASSERT_TRUE(opened->source->fill(opened->test, {}, batch).ok());
  EXPECT_EQ(batch.features.at(0), 4);
  EXPECT_EQ(batch.classes, (Numbers{1}));

  gray("test/c/1.png", 5);
  expect_error(open(), Code::invalid_argument, {"/test/c", "'c' is not among the 2 classes of the training images"});
}

TEST_F(ImagesTest, ClassesMayBeCalledTrainAndTest) {
  gray("train/1.png", 1);
  gray("test/1.png", 2);
  options.test_share = 0;
  const auto opened = open();
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema().labels, (std::vector<std::string>{"test", "train"}));
  EXPECT_TRUE(opened->test.empty());
}

TEST_F(ImagesTest, DrawsTheTestFromEveryClass) {
  for (int i = 0; i < 40; ++i) gray(fmt::format("a/{}.png", i), 1);
  for (int i = 0; i < 20; ++i) gray(fmt::format("b/{}.png", i), 2);
  gray("c/lonely.png", 3);
  options.test_share = 0.2;
  const auto opened = open().value();
  EXPECT_EQ(opened.test.size(), 12U);
  const auto in_a = std::count_if(opened.test.begin(), opened.test.end(), [](auto i) { return i < 40; });
  EXPECT_EQ(in_a, 8);
  EXPECT_EQ(std::count(opened.test.begin(), opened.test.end(), 60U), 0) << "the only one of its class";
  Samples all;
  std::merge(opened.train.begin(), opened.train.end(), opened.test.begin(), opened.test.end(), std::back_inserter(all));
  for (std::uint64_t i = 0; i < 61; ++i) EXPECT_EQ(all.at(i), i);
  EXPECT_EQ(all.size(), 61U);
  EXPECT_EQ(open().value().test, opened.test) << "always the same";
  EXPECT_NE(opened.test, (Samples{0, 1, 2, 3, 4, 5, 6, 7, 40, 41, 42, 43})) << "drawn, not the first";
  options.test_share = 0;
  EXPECT_TRUE(open().value().test.empty());
  options.test_share = 1.5;
  expect_error(open(), Code::invalid_argument, {"test share", "1.5"});
}

TEST_F(ImagesTest, OneOfEachLeavesNoneToTestWith) {
  gray("a/1.png", 1);
  gray("b/1.png", 1);
  expect_error(open(), Code::invalid_argument, {folder.path(), "a single image in every class"});
  gray("b/2.png", 1);
  EXPECT_EQ(open().value().test.size(), 1U);
  gray("a/2.png", 1);
  options.test_share = 0.9;
  const auto opened = open().value();
  Batch batch;
  ASSERT_TRUE(opened.source->fill(opened.train, {}, batch).ok());
  EXPECT_EQ(batch.classes, (Numbers{0, 1})) << "one of every class is left";
}

TEST_F(ImagesTest, LikeAModelThatExists) {
  gray("dog/1.png", 10, 4);
  gray("dog/2.png", 20, 3);
  Schema like;
  like.shape = {3, 2, 2};
  like.labels = {"zebra", "dog", "cat"};
  like.outputs = 3;
  auto opened = open(&like);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema(), like);
  Batch batch;
  ASSERT_TRUE(opened->source->fill(Samples{0, 1}, {}, batch).ok());
  EXPECT_EQ(batch.classes, (Numbers{1, 1}));
  EXPECT_EQ(batch.features.size(), 24U);
  EXPECT_EQ(batch.features.at(12), 20);

  like.shape[0] = 1;
  const auto colour = red("cat/1.png");
  expect_error(open(&like), Code::invalid_argument, {colour, "takes gray images"});
  like.labels[2] = "cow";
  expect_error(open(&like), Code::invalid_argument, {"/cat", "'cat' is not among the 3 classes of the model"});
  like.shape = {4};
  expect_error(open(&like), Code::invalid_argument, {"the model", "not made for images"});
}

TEST_F(ImagesTest, FindsWhatIsNoImageBeforeTraining) {
  gray("a/1.png", 1);
  gray("b/1.png", 1);
  folder.plain("b/2.jpg", "not at all");
  expect_error(open(), Code::corrupt, {"/b/2.jpg", "no png or jpeg"});
}

TEST_F(ImagesTest, NamesFilesThatChangeOnTheWay) {
  gray("a/1.png", 1);
  const auto second = gray("b/1.png", 1);
  gray("b/2.png", 1);
  const auto opened = open().value();
  Batch batch;
  const auto message = [&] {
    const auto status = opened.source->fill(Samples{2, 1}, {}, batch);
    EXPECT_EQ(status.ok(), opened.source->learn(Samples{2, 1}).ok());
    return status.error().message;
  };
  EXPECT_EQ(message(), "");
  gray("b/1.png", 1, 3);
  EXPECT_EQ(message(), second + ": has changed since the folder was opened: start again");
  write_png(second, 2, 2, Bytes(12, 1), PNG_COLOR_TYPE_RGB);
  EXPECT_NE(message().find(second + ": has changed"), std::string::npos);
  fs::remove(second);
  EXPECT_NE(message().find(second + ": No such file"), std::string::npos);
}

TEST_F(ImagesTest, FillsForManyThreads) {
  for (int i = 0; i < 8; ++i) gray(fmt::format("{}/1.png", i), static_cast<std::uint8_t>(i));
  options.test_share = 0;
  const auto opened = open().value();
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Batch batch;
      for (std::uint64_t i = 0; i < 8; ++i) {
        ASSERT_TRUE(opened.source->fill(Samples{i}, {}, batch).ok());
        EXPECT_EQ(batch.features, std::vector<float>(4, static_cast<float>(i)));
      }
    });
  }
}

#ifdef YOKE_JPEG

TEST_F(ImagesTest, PngAndJpegTogether) {
  gray("a/1.png", 60);
  write_jpeg(prepare("b/1.Jpg"), 2, 2, Bytes(4, 130));
  options.test_share = 0;
  const auto opened = open().value();
  Batch batch;
  ASSERT_TRUE(opened.source->fill(Samples{0, 1}, {}, batch).ok());
  EXPECT_EQ(batch.features, (std::vector<float>{60, 60, 60, 60, 130, 130, 130, 130}));
}

#endif
#endif

}  // namespace
}  // namespace yoke::data
