#include "data/digits.h"

#include "data/byte_images.h"
#include "data/expect_error.h"
#include "data/scratch_folder.h"

namespace yoke::data {
namespace {

std::string pixels(int pixel = 16) {
  std::string line;
  for (int i = 0; i < 64; ++i) line += std::to_string(pixel) + ",";
  return line;
}

TEST(Digits, TheFirst1500AreTrainedOn) {
  ScratchFolder folder;
  std::string content;
  for (int i = 0; i < 1797; ++i) content += pixels(i % 17) + std::to_string(i % 10) + "\r\n";
  const auto opened = open_digits(folder.gzip("digits.csv.gz", content), nullptr);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->name, "digits");
  ASSERT_EQ(opened->train.size(), 1500U);
  ASSERT_EQ(opened->test.size(), 297U);
  EXPECT_EQ(opened->train.back(), 1499U);
  EXPECT_EQ(opened->test.front(), 1500U);
  EXPECT_EQ(opened->source->schema().shape, (std::vector<std::int64_t>{1, 8, 8}));
  Batch batch;
  ASSERT_TRUE(opened->source->fill(std::vector<std::uint64_t>{1796}, {}, batch).ok());
  EXPECT_EQ(batch.features, std::vector<float>(64, 1796 % 17));
  EXPECT_EQ(batch.classes, std::vector<std::int64_t>{6});
}

TEST(Digits, NamesTheLineAndTheFieldThatIsWrong) {
  ScratchFolder folder;
  const auto opened = [&](const std::string& content) {
    return open_digits(folder.plain("digits.csv", content), nullptr);
  };
  expect_error(open_digits(folder.path() + "/none", nullptr), Code::missing, {"/none: No such file"});
  expect_error(opened(pixels() + "9\n"), Code::corrupt, {"/digits.csv: 1 lines, but the digits are 1797"});
  expect_error(opened(pixels() + "9\n17," + pixels()), Code::corrupt, {"line 2: field 1 is no pixel"});
  expect_error(opened(pixels() + "10\n"), Code::corrupt, {"line 1: field 65 is no label"});
  expect_error(opened(pixels() + "1,1\n"), Code::corrupt, {"line 1: not 65 fields"});
  expect_error(opened("1,2,3\n"), Code::corrupt, {"not 65 fields"});
  expect_error(opened("\n"), Code::corrupt, {"line 1: field 1"});
  const auto like = image_schema("", 28, 28, numbered(10), nullptr).value();
  expect_error(open_digits("digits.csv", &like), Code::invalid_argument, {"digits.csv: ", "1x8x8", "1x28x28"});
}

}  // namespace
}  // namespace yoke::data
