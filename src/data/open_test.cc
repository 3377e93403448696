#include "data/open.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include "data/expect_error.h"
#include "data/scratch_folder.h"
#include "data/split.h"

namespace yoke::data {
namespace {

OpenOptions called(const std::string& name) { return {.name = name}; }

Batch fill(const Opened& opened, const std::vector<std::uint64_t>& samples, const Normalisation& normalisation = {}) {
  Batch batch;
  EXPECT_TRUE(opened.source->fill(samples, normalisation, batch).ok());
  return batch;
}

std::map<std::int64_t, int> counts(const Opened& opened, const std::vector<std::uint64_t>& samples) {
  std::map<std::int64_t, int> counts;
  for (auto label : fill(opened, samples).classes) ++counts[label];
  return counts;
}

void write_idx(const ScratchFolder& folder) {
  folder.plain("train-images-idx3-ubyte", idx_content({0x803, 4, 2, 2}, 16));
  folder.plain("train-labels-idx1-ubyte", idx_content({0x801, 4}, 4));
  folder.gzip("t10k-images-idx3-ubyte.gz", idx_content({0x803, 2, 2, 2}, 8));
  folder.gzip("t10k-labels-idx1-ubyte.gz", idx_content({0x801, 2}, 2));
}

TEST(Open, FashionMnist) {
  const auto opened = open({});
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->name, "fashion-mnist");
  EXPECT_EQ(opened->train.size(), 60'000U);
  EXPECT_EQ(opened->test.size(), 10'000U);
  const auto& schema = opened->source->schema();
  EXPECT_EQ(schema.shape, (std::vector<std::int64_t>{1, 28, 28}));
  EXPECT_EQ(schema.task, Task::classes);
  EXPECT_EQ(schema.outputs, 10);
  ASSERT_EQ(schema.labels.size(), 10U);
  EXPECT_EQ(schema.labels[0], "T-shirt/top");
  EXPECT_EQ(schema.labels[9], "Ankle boot");
  auto train = counts(*opened, opened->train), test = counts(*opened, opened->test);
  for (int label = 0; label < 10; ++label) {
    EXPECT_EQ(train[label], 6'000) << label;
    EXPECT_EQ(test[label], 1'000) << label;
  }
  EXPECT_EQ(fill(*opened, {0, 1, 2, 3, 4, 5, 6, 7}).classes, (std::vector<std::int64_t>{9, 0, 0, 3, 0, 2, 7, 2}));
  EXPECT_EQ(fill(*opened, {60'000, 60'001, 60'002}).classes, (std::vector<std::int64_t>{9, 2, 1}));
  const auto learnt = opened->source->learn(opened->train).value();
  EXPECT_NEAR(learnt.mean[0] / 255, 0.2860, 5e-5);
  EXPECT_NEAR(learnt.deviation[0] / 255, 0.3530, 5e-5);
}

TEST(Open, Digits) {
  const auto opened = open(called("digits"));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->train.size(), 1'500U);
  EXPECT_EQ(opened->test.size(), 297U);
  auto train = counts(*opened, opened->train), test = counts(*opened, opened->test);
  const std::vector<int> all{178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
  for (int label = 0; label < 10; ++label) EXPECT_EQ(train[label] + test[label], all[label]) << label;
  EXPECT_EQ(fill(*opened, {0}).features[3], 13);
  EXPECT_EQ(fill(*opened, {0, 1796}).classes, (std::vector<std::int64_t>{0, 8}));
  const auto parts = split(*opened, {0.1, 0}, 0, 1);
  ASSERT_TRUE(parts.ok()) << parts.error().message;
  EXPECT_EQ(parts->train.size(), 1'350U);
  EXPECT_EQ(parts->validation.size(), 150U);
  EXPECT_EQ(parts->test.name(), "digits test");
}

TEST(Open, Diabetes) {
  const auto opened = open(called("diabetes"));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->name, "diabetes");
  EXPECT_EQ(opened->train.size(), 398U);
  EXPECT_EQ(opened->test.size(), 44U);
  const auto& schema = opened->source->schema();
  EXPECT_EQ(schema.features, (std::vector<std::string>{"age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"}));
  EXPECT_EQ(schema.task, Task::values);
  EXPECT_EQ(schema.labels, std::vector<std::string>{"progression"});
  std::vector<std::uint64_t> all(442);
  std::iota(all.begin(), all.end(), 0);
  const auto learnt = opened->source->learn(all).value();
  EXPECT_NEAR(learnt.mean[2], 26.3758, 1e-4);
  EXPECT_NEAR(learnt.target_mean[0], 152.1335, 1e-4);
  EXPECT_NEAR(learnt.target_deviation[0], 77.0057, 1e-4);
  auto bmi = called("diabetes");
  bmi.target = {"bmi"};
  EXPECT_EQ(open(bmi)->source->schema().labels, std::vector<std::string>{"bmi"});
}

TEST(Open, SetsThatHaveToBeFetched) {
  ScratchFolder cache;
  for (const std::string name : {"mnist", "moby-dick"}) {
    auto options = called(name);
    expect_error(open(options), Code::missing, {name + " is not there: yoke data fetch " + name});
    options.cache = cache.path();
    expect_error(open(options), Code::missing, {cache.path() + "/" + name, "yoke data fetch " + name});
  }
  auto mnist = called("mnist");
  mnist.cache = cache.path();
  std::filesystem::create_directory(cache.path() + "/mnist");
  expect_error(open(mnist), Code::missing, {"/mnist/train-images-idx3-ubyte.gz", "yoke data fetch mnist"});
  ScratchFolder elsewhere;
  write_idx(elsewhere);
  const auto opened = open(called("mnist:" + elsewhere.path()));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->name, "mnist");
  std::filesystem::remove(cache.path() + "/mnist");
  std::filesystem::create_directory_symlink(elsewhere.path(), cache.path() + "/mnist");
  EXPECT_EQ(open(mnist)->train.size(), 4U);
}

TEST(Open, FashionMnistInAFolderOfOnesOwn) {
  ScratchFolder folder;
  const auto options = called("fashion-mnist:" + folder.path());
  expect_error(open(options), Code::missing,
               {"train-images-idx3-ubyte.gz is not there", "apt-get install dataset-fashion-mnist"});
  write_idx(folder);
  const auto opened = open(options);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema().outputs, 10);
}

TEST(Open, TellsTheKindFromThePath) {
  ScratchFolder folder;
  std::string rows = "a,y\n";
  for (int i = 0; i < 10; ++i) rows += "1,2\n";
  for (const auto& file : {folder.plain("t.csv", rows), folder.plain("t.tsv", rows), folder.gzip("t.csv.gz", rows),
                           "csv:" + folder.plain("table", rows)}) {
    auto options = called(file);
    options.target = {"y"};
    const auto opened = open(options);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    EXPECT_EQ(opened->source->schema().features, std::vector<std::string>{"a"});
    EXPECT_EQ(opened->name, file.substr(file.rfind('/') + 1));
  }
  std::string prose;
  for (int i = 0; i < 100; ++i) prose += "Call me Ishmael. ";
  for (const auto& file : {folder.plain("t.txt", prose), folder.gzip("t.txt.gz", prose),
                           "text:" + folder.plain("prose", prose), "moby-dick:" + folder.path() + "/prose"}) {
    const auto opened = open(called(file));
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    EXPECT_TRUE(opened->source->schema().tokens);
  }
  ScratchFolder images;
  write_idx(images);
  for (const auto& name : {images.path(), "idx:" + images.path()}) {
    const auto opened = open(called(name));
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    EXPECT_EQ(opened->test.size(), 2U);
  }
  // Another folder is one of images, and here there are none.
  const auto none = open(called(folder.path()));
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find(folder.path()), std::string::npos) << none.error().message;
}

TEST(Open, APathThatIsNotThere) {
  for (const std::string name : {"no/such", "/no/such.csv", "none.csv", "none.txt", "none.tsv", "none.csv.gz"}) {
    expect_error(open(called(name)), Code::missing, {name + " is not there"});
  }
  for (const std::string kind : {"csv", "text", "digits", "diabetes", "moby-dick", "idx", "mnist"}) {
    expect_error(open(called(kind + ":/no/such")), Code::missing, {"/no/such"});
  }
}

TEST(Open, UnknownNamesAreAnsweredWithTheList) {
  ScratchFolder folder;
  for (const auto& name : std::vector<std::string>{"", "cifar", ":", "what:is.this", folder.plain("file.dat", "1")}) {
    expect_error(open(called(name)), Code::invalid_argument,
                 {"'" + name + "'", "fashion-mnist[:DIR], mnist[:DIR], digits[:FILE], diabetes[:FILE]", "csv:FILE",
                  "by its path"});
  }
  expect_error(open(called("digit")), Code::invalid_argument, {"did you mean digits?"});
  expect_error(open(called("fashon-mnist:/x")), Code::missing, {"fashon-mnist:/x"});
  expect_error(open(called("imges:x")), Code::invalid_argument, {"did you mean images?"});
  for (const std::string name : {"csv", "csv:", "digits:", "images"}) {
    expect_error(open(called(name)), Code::invalid_argument, {"'" + name + "' does not say where"});
  }
}

TEST(Open, OptionsThatDoNotBelongToTheSet) {
  auto options = called("digits");
  options.test = "other.csv";
  expect_error(open(options), Code::invalid_argument, {"digits", "--test-data other.csv"});
  options = called("digits");
  options.target = {"y"};
  expect_error(open(options), Code::invalid_argument, {"digits", "--target", "tables"});
  options = called("digits");
  options.test_share = 0.95;
  expect_error(open(options), Code::invalid_argument, {"test share 0.95", "0.9"});
}

}  // namespace
}  // namespace yoke::data
