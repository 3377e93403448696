#include "data/open.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "data/scratch_folder.h"

namespace yoke::data {
namespace {

std::string message(const Result<Split>& result) { return result.ok() ? "no error" : result.error().message; }

std::map<int, int> counts(const Dataset& set) {
  std::map<int, int> counts;
  for (auto label : set.labels) ++counts[label];
  return counts;
}

struct Moments {
  double mean = 0, deviation = 0;
};

Moments moments(const Dataset& set) {
  std::vector<std::uint64_t> samples(set.size());
  std::iota(samples.begin(), samples.end(), 0);
  std::vector<float> x(set.size() * set.width());
  std::vector<std::int64_t> y(set.size());
  EXPECT_TRUE(set.copy(samples, x.data(), y.data()).ok());
  double sum = 0, squares = 0;
  for (double value : x) sum += value, squares += value * value;
  const auto n = static_cast<double>(x.size());
  return {sum / n, std::sqrt(squares / n - sum / n * (sum / n))};
}

TEST(Open, FashionMnist) {
  auto split = open("fashion-mnist");
  ASSERT_TRUE(split.ok()) << message(split);
  EXPECT_EQ(split->train.size(), 60'000U);
  EXPECT_EQ(split->test.size(), 10'000U);
  EXPECT_EQ(split->train.classes, 10U);
  EXPECT_EQ(split->train.shape, (std::vector<std::int64_t>{1, 28, 28}));
  EXPECT_EQ(split->test.shape, split->train.shape);
  for (int label = 0; label < 10; ++label) {
    EXPECT_EQ(counts(split->train)[label], 6'000) << label;
    EXPECT_EQ(counts(split->test)[label], 1'000) << label;
  }
  const std::vector<std::uint8_t> first{9, 0, 0, 3, 0, 2, 7, 2}, held_out{9, 2, 1, 1, 6, 1, 4, 6};
  EXPECT_TRUE(std::equal(first.begin(), first.end(), split->train.labels.begin()));
  EXPECT_TRUE(std::equal(held_out.begin(), held_out.end(), split->test.labels.begin()));
  const auto [mean, deviation] = moments(split->train);
  EXPECT_NEAR(mean, 0, 1e-3);
  EXPECT_NEAR(deviation, 1, 1e-3);
}

TEST(Open, Digits) {
  auto split = open("digits");
  ASSERT_TRUE(split.ok()) << message(split);
  EXPECT_EQ(split->train.size(), 1'500U);
  EXPECT_EQ(split->test.size(), 297U);
  EXPECT_EQ(split->train.shape, (std::vector<std::int64_t>{1, 8, 8}));
  const std::vector<int> all{178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
  for (int label = 0; label < 10; ++label) {
    EXPECT_EQ(counts(split->train)[label] + counts(split->test)[label], all[label]) << label;
  }
  EXPECT_EQ(split->train.labels.front(), 0);
  EXPECT_EQ(split->train.bytes[3], 13);
  EXPECT_EQ(split->test.labels.back(), 8);
  const auto [mean, deviation] = moments(split->train);
  EXPECT_NEAR(mean, 0, 1e-3);
  EXPECT_NEAR(deviation, 1, 1e-3);
}

TEST(Open, FashionMnistInAFolderOfOnesOwn) {
  ScratchFolder folder;
  const auto name = "fashion-mnist:" + folder.path();
  EXPECT_NE(message(open(name)).find("train-images-idx3-ubyte.gz is not there"), std::string::npos)
      << message(open(name));
  EXPECT_NE(message(open(name)).find("apt-get install dataset-fashion-mnist"), std::string::npos)
      << message(open(name));

  folder.plain("train-images-idx3-ubyte", idx_content({0x803, 4, 2, 2}, 16));
  folder.plain("train-labels-idx1-ubyte", idx_content({0x801, 4}, 4));
  folder.gzip("t10k-images-idx3-ubyte.gz", idx_content({0x803, 2, 2, 2}, 8));
  EXPECT_NE(message(open(name)).find("t10k-labels-idx1-ubyte.gz is not there"), std::string::npos)
      << message(open(name));
  folder.gzip("t10k-labels-idx1-ubyte.gz", idx_content({0x801, 2}, 2));
  auto split = open(name);
  ASSERT_TRUE(split.ok()) << message(split);
  EXPECT_EQ(split->train.size(), 4U);
  EXPECT_EQ(split->test.size(), 2U);

  folder.gzip("t10k-images-idx3-ubyte.gz", idx_content({0x803, 2, 4, 1}, 8));
  EXPECT_NE(message(open(name)).find("differ in size"), std::string::npos) << message(open(name));
}

TEST(Open, DigitsThatAreNone) {
  ScratchFolder folder;
  const auto opened = [&](const std::string& content) {
    return message(open("digits:" + folder.plain("digits.csv", content)));
  };
  std::string pixels;
  for (int i = 0; i < 64; ++i) pixels += "16,";
  EXPECT_NE(message(open("digits:" + folder.path() + "/none")).find("/none: No such file"), std::string::npos);
  EXPECT_NE(opened(pixels + "9\n").find("1 lines, but the digits are 1797"), std::string::npos);
  EXPECT_NE(opened(pixels + "9\n17," + pixels).find("line 2: field 1 is no pixel"), std::string::npos);
  EXPECT_NE(opened(pixels + "10\n").find("line 1: field 65 is no label"), std::string::npos);
  EXPECT_NE(opened(pixels + "1,1\n").find("not 65 fields"), std::string::npos);
  EXPECT_NE(opened("1,2,3\n").find("not 65 fields"), std::string::npos);
  EXPECT_NE(opened("\n").find("line 1: field 1"), std::string::npos);
}

TEST(Open, UnknownNamesAreAnsweredWithTheList) {
  for (const auto* name : {"", "cifar", "digits:", "fashion-mnist:", "digitsx", ":"}) {
    const auto result = open(name);
    ASSERT_FALSE(result.ok()) << name;
    EXPECT_EQ(result.error().code, Code::invalid_argument);
    EXPECT_NE(message(result).find("fashion-mnist, fashion-mnist:DIR, digits, digits:FILE"), std::string::npos);
  }
}

}  // namespace
}  // namespace yoke::data
