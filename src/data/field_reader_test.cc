#include "data/field_reader.h"

#include "data/expect_error.h"

namespace yoke::data {
namespace {

TEST(FieldReader, ReadsNumbersAndFlags) {
  EXPECT_EQ(FieldReader::of_numbers().read("-2.5").value(), -2.5F);
  EXPECT_EQ(FieldReader::of_flags().read("1.0").value(), 1);
  EXPECT_EQ(FieldReader::of_flags().read("0").value(), 0);
  expect_error(FieldReader::of_numbers().read("red"), Code::corrupt, {"'red' is no number"});
  expect_error(FieldReader::of_numbers().read(""), Code::corrupt, {"empty"});
  expect_error(FieldReader::of_flags().read("0.5"), Code::invalid_argument, {"'0.5' is neither 0 nor 1"});
}

TEST(FieldReader, FindsWordsByTheirPlace) {
  const std::vector<std::string> words{"blue", "red", "7"};
  const auto reader = FieldReader::of_words(words, "word");
  EXPECT_EQ(reader.read("blue").value(), 0);
  EXPECT_EQ(reader.read("7").value(), 2);
  expect_error(reader.read("7.0"), Code::invalid_argument, {"'7.0' is no word"});
  expect_error(reader.read("green"), Code::invalid_argument, {"'green' is no word"});
  expect_error(reader.read(""), Code::corrupt, {"empty"});
}

TEST(FieldReader, IntegersMayBeWrittenInSeveralWays) {
  const std::vector<std::string> words{"-1", "9", "10"};
  const auto reader = FieldReader::of_words(words, "class");
  EXPECT_EQ(reader.read("-1").value(), 0);
  EXPECT_EQ(reader.read("9.0").value(), 1);
  EXPECT_EQ(reader.read("010").value(), 2);
  expect_error(reader.read("9.5"), Code::invalid_argument, {"'9.5' is no class"});
  expect_error(reader.read("red"), Code::invalid_argument, {"'red' is no class"});
}

}  // namespace
}  // namespace yoke::data
