#include "cli/toml.h"

#include <gtest/gtest.h>

#include <map>

namespace yoke::cli {
namespace {

using Kind = TomlValue::Kind;

// The value of `x` in the line "x = ...".
TomlValue value_of(const std::string& text) {
  auto settings = parse_toml("x = " + text, "job.toml");
  EXPECT_TRUE(settings.ok()) << text << ": " << settings.error().message;
  if (!settings || settings->size() != 1) return {Kind::list, "not read", {}};
  return settings->front().value;
}

std::string error_of(const std::string& text) {
  const auto settings = parse_toml(text, "job.toml");
  EXPECT_FALSE(settings.ok()) << text;
  if (settings) return "";
  EXPECT_EQ(settings.error().code, Code::invalid_argument);
  return settings.error().message;
}

TEST(Toml, ReadsEveryKindOfScalar) {
  const std::map<std::string, std::pair<Kind, std::string>> cases = {
      {"0", {Kind::integer, "0"}},
      {"-17", {Kind::integer, "-17"}},
      {"+3", {Kind::integer, "+3"}},
      {"1_000_000", {Kind::integer, "1000000"}},
      {"0xFF", {Kind::integer, "255"}},
      {"0o17", {Kind::integer, "15"}},
      {"0b1_01", {Kind::integer, "5"}},
      {"0.05", {Kind::real, "0.05"}},
      {"1e-3", {Kind::real, "1e-3"}},
      {"-2.5E+10", {Kind::real, "-2.5E+10"}},
      {"inf", {Kind::real, "inf"}},
      {"-nan", {Kind::real, "-nan"}},
      {"true", {Kind::boolean, "true"}},
      {"false", {Kind::boolean, "false"}},
      {"\"\"", {Kind::text, ""}},
      {R"("a # b = c")", {Kind::text, "a # b = c"}},
      {R"("say \"no\" \\ \t\n")", {Kind::text, "say \"no\" \\ \t\n"}},
      {R"("\u00e9\U0001F600")", {Kind::text, "\xC3\xA9\xF0\x9F\x98\x80"}},
      {R"('C:\data "raw"')", {Kind::text, "C:\\data \"raw\""}},
      {"''", {Kind::text, ""}},
  };
  for (const auto& [text, expected] : cases) {
    const auto value = value_of(text + "  # a comment");
    EXPECT_EQ(value.kind, expected.first) << text;
    EXPECT_EQ(value.text, expected.second) << text;
  }
}

TEST(Toml, ReadsListsOverSeveralLines) {
  const auto list = value_of("[ 1, \"two, ]\", # a comment with ]\n\n  3.0,\n true ,\n]");
  ASSERT_EQ(list.kind, Kind::list);
  ASSERT_EQ(list.items.size(), 4u);
  EXPECT_EQ(list.items[1].text, "two, ]");
  EXPECT_EQ(list.items[3].kind, Kind::boolean);
  EXPECT_TRUE(value_of("[]").items.empty());
  EXPECT_TRUE(value_of("[ # nothing\n ]").items.empty());
}

TEST(Toml, KeepsTheOrderAndTheLines) {
  const auto settings = parse_toml(
      "\xEF\xBB\xBF# a job\r\n"
      "batch=32\r\n"
      "\r\n"
      "[ data ] # grouping\r\n"
      "\"data\" = [\r\n 1,\r\n 2]\r\n"
      "  'no-cache'\t=\ttrue\r\n"
      "[\"other things\"]\n"
      "batch = 1",
      "job.toml");
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  ASSERT_EQ(settings->size(), 4u);
  const std::vector<std::pair<std::string, std::size_t>> expected = {
      {"batch", 2}, {"data", 5}, {"no-cache", 8}, {"batch", 10}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ((*settings)[i].key, expected[i].first);
    EXPECT_EQ((*settings)[i].line, expected[i].second);
  }
  EXPECT_TRUE(parse_toml("", "empty.toml")->empty());
  EXPECT_TRUE(parse_toml("# nothing", "empty.toml")->empty());
}

TEST(Toml, EveryErrorNamesFileAndLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a = 1\nbatch 32", "job.toml:2: '=' is missing after 'batch'"},
      {"a = 1\nbatch", "job.toml:2: '=' is missing after 'batch'"},
      {"batch =", "job.toml:1: a value is missing"},
      {"batch = # none", "job.toml:1: a value is missing"},
      {"\n= 3", "job.toml:2: a name is missing before '='"},
      {"!x = 3", "job.toml:1: a name is missing before '!x'"},
      {"model = cnn", "job.toml:1: 'cnn' is no number, true or false: put text in quotes"},
      {"when = 2024-01-01", "'2024-01-01' is no number"},
      {"x = 007", "'007' is no number"},
      {"x = 1__0", "'1__0' is no number"},
      {"x = .5", "'.5' is no number"},
      {"x = 5.", "'5.' is no number"},
      {"x = True", "'True' is no number"},
      {"x = 0x1FFFFFFFFFFFFFFFF", "is no number"},
      {"x = " + std::string(100000, '1'), "is no number"},
      {"x = 1 2", "job.toml:1: '2' is too much here"},
      {"x = \"a\" b", "'b' is too much here"},
      {"x = 1 ]", "']' is too much here"},
      {"\n\nx = \"abc", "job.toml:3: the string is not closed with \""},
      {"x = \"abc\ny\"", "job.toml:1: the string is not closed with \""},
      {"x = 'abc", "the string is not closed with '"},
      {"x = \"a\\", "job.toml:1: \\ means nothing"},
      {"x = \"\\d\"", "\\d means nothing in a string: write \\\\"},
      {"x = \"\\u12\"", "'\\u12\"' is no character"},
      {"x = \"\\uD800\"", "is no character"},
      {"x = \"\\u0000\"", "is no character"},
      {"x = \"\"\"long\"\"\"", "strings over several lines"},
      {"x = [1,\n2", "job.toml:2: the list that begins on line 1 is not closed"},
      {"x = [1 2]", "',' or ']' is missing in the list that begins on line 1"},
      {"x = [,1]", "a value is missing before ','"},
      {"x = [1,,2]", "a value is missing before ','"},
      {"x = [[1], 2]", "a list inside a list"},
      {"x = {a = 1}", "tables inside a line"},
      {"a.b = 1", "dots in a name, after 'a'"},
      {"[a.b]\nc = 1", "job.toml:1: a table inside table 'a'"},
      {"[[a]]", "lists of tables"},
      {"[a", "']' is missing after table 'a'"},
      {"[]", "a table's name is missing"},
      {"[a] x = 1", "'x' is too much here"},
      {"[a]\n[b]\n[a]", "job.toml:3: table 'a' stands twice"},
      {"x = 1\ny = 2\nx = 3", "job.toml:3: 'x' stands twice"},
      {"x = 1\n\ny = \"\x01\"", "job.toml:3: a control character (code 1)"},
      {"x = 1\ry = 2", "a control character (code 13)"},
      {std::string("x\0 = 1", 6), "a control character (code 0)"},
  };
  for (const auto& [text, expected] : cases) {
    const auto message = error_of(text);
    EXPECT_NE(message.find(expected), std::string::npos) << text.substr(0, 80) << "\n" << message.substr(0, 200);
    EXPECT_EQ(message.find("job.toml:"), 0u) << message.substr(0, 200);
  }
}

TEST(Toml, QuotesSuchThatItReadsBack) {
  for (const std::string text :
       {"", "plain", "say \"no\"", "back\\slash\\", "tab\tline\nend\x7F", "\xC3\xA9", "# = [1]", "'"}) {
    EXPECT_EQ(value_of(quote_toml(text)).text, text);
  }
}

TEST(Toml, KnowsWhatNeedsNoQuotes) {
  for (const std::string text : {"0", "-1", "3.5", "1e9", "inf"}) {
    EXPECT_TRUE(is_toml_number(text)) << text;
    EXPECT_EQ(value_of(text).text, text);
  }
  for (const std::string text : {"", "01", "1_0", "0x10", "1.", "one", "1 2"})
    EXPECT_FALSE(is_toml_number(text)) << text;
  EXPECT_TRUE(is_toml_key("max-lead_2"));
  EXPECT_FALSE(is_toml_key(""));
  EXPECT_FALSE(is_toml_key("a.b"));
}

// Any cut and any changed byte of a good file is read or refused, and never more than that.
TEST(Toml, SurvivesDamage) {
  const std::string good = "# c\n[t]\na = [1, 'x', \"\\u00e9\"]\n\"b\" = 0x1F # e\nc = -1.5e3\n";
  for (std::size_t i = 0; i <= good.size(); ++i) (void)parse_toml(good.substr(0, i), "f");
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char c : std::string("[]\"'\\#=\n\r.,{ \x80")) {
      auto damaged = good;
      damaged[i] = c;
      (void)parse_toml(damaged, "f");
    }
  }
}

}  // namespace
}  // namespace yoke::cli
