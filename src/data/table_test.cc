#include "data/table.h"

#include "data/expect_error.h"

namespace yoke::data {
namespace {

using Fields = std::vector<std::string>;

TEST(Table, ReadsHeaderAndRows) {
  const auto table = parse_table("a,b\n1,2\n3,4\n");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->columns, (Fields{"a", "b"}));
  EXPECT_EQ(table->rows, (std::vector<Fields>{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(table->lines, (std::vector<std::uint64_t>{2, 3}));
}

TEST(Table, FindsTheSeparator) {
  EXPECT_EQ(parse_table("a;b\n1,5;2").value().rows[0], (Fields{"1,5", "2"}));
  EXPECT_EQ(parse_table("a\tb\n1;5\t 2 ").value().rows[0], (Fields{"1;5", "2"}));
  EXPECT_EQ(parse_table("a;b,c\n1;5,2").value().columns, (Fields{"a;b", "c"}));
  EXPECT_EQ(parse_table("\"a,b\";c\n1;2").value().columns, (Fields{"a,b", "c"}));
  EXPECT_EQ(parse_table("a\n1\n").value().rows, (std::vector<Fields>{{"1"}}));
  EXPECT_EQ(parse_table("a\tb\n\t\n").value().rows, (std::vector<Fields>{{"", ""}}));
}

TEST(Table, QuotesKeepWhatIsInside) {
  const auto table = parse_table("\"a\",b\n\"x, \"\"y\"\"\" , z \n\"two\nlines\",\"\"\n5\" pipe,1\n");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->columns, (Fields{"a", "b"}));
  EXPECT_EQ(table->rows, (std::vector<Fields>{{"x, \"y\"", "z"}, {"two\nlines", ""}, {"5\" pipe", "1"}}));
  EXPECT_EQ(table->lines, (std::vector<std::uint64_t>{2, 3, 5}));
}

TEST(Table, LinesEndInAnyWay) {
  for (const auto* text : {"a,b\r\n1,2\r\n", "a,b\r1,2",
                           "\xef\xbb\xbf"
                           "a,b\n1,2",
                           "\n\na,b\n\n\n1,2\n\n"}) {
    const auto table = parse_table(text);
    ASSERT_TRUE(table.ok()) << table.error().message;
    EXPECT_EQ(table->columns, (Fields{"a", "b"})) << text;
    EXPECT_EQ(table->rows, (std::vector<Fields>{{"1", "2"}})) << text;
  }
  EXPECT_EQ(parse_table("\n\na,b\n\n\n1,2\n\n").value().lines[0], 6U);
}

TEST(Table, SaysWhereItIsNone) {
  const auto wrong = [](std::string_view text, std::string words) {
    expect_error(parse_table(text), Code::corrupt, {std::move(words)});
  };
  wrong("", "the file is empty");
  wrong("\xef\xbb\xbf\n\r\n", "the file is empty");
  wrong("a,b\n", "line 1: a header and nothing else");
  wrong("a,b\n1,2\n3\n", "line 3: 1 fields, but the header has 2");
  wrong("a,b\n1,2,3,4\n", "line 2: 4 fields, but the header has 2");
  wrong("a,b\n1,2,\n", "line 2: 3 fields");
  wrong("a,b,a\n1,2,3\n", "line 1: columns 1 and 3 are both called 'a'");
  wrong("a,,c\n1,2,3\n", "line 1: field 2 of the header is empty");
  wrong("a,b\n1,\"2\n3,4\n", "line 2: the quotes of field 2 do not end");
  wrong("a,b\n1,\"2\"3\n", "line 2: field 2 goes on after its quotes");
  wrong(std::string_view("a,b\n1,\0\n", 8), "line 2: field 2 has a zero byte");
  std::string wide = "c0";
  for (int i = 1; i <= 100'000; ++i) wide += ",c" + std::to_string(i);
  wrong(wide + "\n", "line 1: 100001 columns, more than the limit");
}

TEST(Table, RefusesMoreFieldsThanTheLimit) {
  EXPECT_TRUE(parse_table("a,b\n1,2\n3,4\n", 4).ok());
  expect_error(parse_table("a,b\n1,2\n3,4\n", 3), Code::corrupt, {"line 3: more than 3 fields"});
}

}  // namespace
}  // namespace yoke::data
