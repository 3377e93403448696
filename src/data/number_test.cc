#include "data/number.h"

#include "data/expect_error.h"

namespace yoke::data {
namespace {

TEST(Number, ReadsNumbers) {
  EXPECT_EQ(parse_number("3").value(), 3);
  EXPECT_EQ(parse_number("-1.5e3").value(), -1500);
  EXPECT_EQ(parse_number("+.5").value(), 0.5);
  EXPECT_EQ(parse_number("3e38").value(), 3e38);
  for (const auto* field : {"3", "+3", "nan", "-inf", "1e999", "1e39"}) EXPECT_TRUE(looks_like_number(field)) << field;
  for (const auto* field : {"", "+", "-", "+-3", "++3", "3x", "0x10", "1,5", "red", "1 2", " 1"}) {
    EXPECT_FALSE(looks_like_number(field)) << field;
  }
}

TEST(Number, SaysWhatIsNoNumber) {
  expect_error(parse_number(""), Code::corrupt, {"empty"});
  expect_error(parse_number("red"), Code::corrupt, {"'red' is no number"});
  expect_error(parse_number("nan"), Code::corrupt, {"'nan' is not finite"});
  expect_error(parse_number("-inf"), Code::corrupt, {"'-inf' is not finite"});
  expect_error(parse_number("1e39"), Code::corrupt, {"'1e39' is out of range"});
  expect_error(parse_number("1e999"), Code::corrupt, {"'1e999' is out of range"});
  expect_error(parse_number(std::string(65, '1')), Code::corrupt, {"1111...' is too long"});
  EXPECT_EQ(shown(std::string(41, 'a')), "'" + std::string(40, 'a') + "...'");
}

TEST(Number, IntegersHaveOneForm) {
  for (const auto* field : {"3", "+3", "3.0", "03", "30e-1"}) EXPECT_EQ(parse_integer(field).value(), "3") << field;
  EXPECT_EQ(parse_integer("-0").value(), "0");
  EXPECT_EQ(parse_integer("-12").value(), "-12");
  expect_error(parse_integer("3.5"), Code::corrupt, {"'3.5' is no integer"});
  expect_error(parse_integer("1e30"), Code::corrupt, {"'1e30' is out of range for an integer"});
  expect_error(parse_integer("red"), Code::corrupt, {"'red' is no number"});
}

}  // namespace
}  // namespace yoke::data
