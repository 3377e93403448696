#include <gtest/gtest.h>

#include "checkpoint/model_file.h"
#include "checkpoint/model_file_fixture.h"

namespace yoke::checkpoint {
namespace {

Result<ModelHeader> parse(const std::string& text) { return parse_model_header(bytes_of(text), text.size()); }

TEST(ModelHeader, ListsTensorsInTheOrderOfTheirBytes) {
  const auto header = parse(content(kTwo + "   ", 11));
  ASSERT_TRUE(header.ok()) << header.error().message;
  ASSERT_EQ(header->tensors.size(), 2U);
  EXPECT_EQ(header->tensors[0].name, "a");
  EXPECT_EQ(header->tensors[0].shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(header->tensors[1].name, "b");
  EXPECT_EQ(header->tensors[1].type, "U8");
  EXPECT_EQ(header->tensors[1].begin, 8U);
  EXPECT_EQ(header->tensors[1].end, 11U);
  EXPECT_EQ(header->header_bytes, 8 + kTwo.size() + 3);
  EXPECT_EQ(header->data_bytes, 11U);
}

TEST(ModelHeader, TakesScalarsEmptyTensorsWordsAndEveryType) {
  EXPECT_TRUE(parse(content("{}", 0)).ok());
  EXPECT_TRUE(parse(content(R"({"s":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
                            R"("none":{"dtype":"F32","shape":[4,0],"data_offsets":[0,0]}})",
                            8))
                  .ok());
  const auto words = parse(content(R"({"__metadata__":{"format":"pt","caf\u00e9":"\"1\""}})", 0));
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(words->about, (std::map<std::string, std::string>{{"format", "pt"}, {"caf\xc3\xa9", "\"1\""}}));
  for (const auto& [type, size] : std::map<std::string, std::size_t>{{"BOOL", 1},
                                                                     {"U8", 1},
                                                                     {"I8", 1},
                                                                     {"F8_E4M3", 1},
                                                                     {"F8_E5M2", 1},
                                                                     {"I16", 2},
                                                                     {"U16", 2},
                                                                     {"F16", 2},
                                                                     {"BF16", 2},
                                                                     {"I32", 4},
                                                                     {"U32", 4},
                                                                     {"F32", 4},
                                                                     {"I64", 8},
                                                                     {"U64", 8},
                                                                     {"F64", 8}}) {
    const auto text =
        R"({"t":{"dtype":")" + type + R"(","shape":[3],"data_offsets":[0,)" + std::to_string(3 * size) + "]}}";
    EXPECT_TRUE(parse(content(text, 3 * size)).ok()) << type;
    EXPECT_FALSE(parse(content(text, 3 * size + 1)).ok()) << type;
  }
}

TEST(ModelHeader, RefusesLengthsThatDoNotFit) {
  expect_error(parse(""), Code::corrupt, {"too short"});
  expect_error(parse("1234567"), Code::corrupt, {"too short"});
  expect_error(parse(std::string(8, '\0')), Code::corrupt, {"'{'"});
  expect_error(parse(content(kTwo, 11).substr(0, 40)), Code::corrupt, {"cut off", std::to_string(kTwo.size())});
  expect_error(parse(content(kTwo, 10)), Code::corrupt, {"tensor 'b'", "8 to 11", "end by 10"});
  expect_error(parse(content(kTwo, 12)), Code::corrupt, {"last 1 bytes", "no tensor"});
  expect_error(parse(std::string(16, '\xff')), Code::corrupt, {"100000000"});
  // The file is long enough, but not all of the header was handed over.
  expect_error(parse_model_header(bytes_of(content(kTwo, 0).substr(0, 40)), 1000), Code::corrupt, {"cut off"});
}

TEST(ModelHeader, RefusesTensorsThatDoNotMakeSense) {
  const auto f32 = [](const auto& shape, const auto& offsets) { return content(tensor("\"F32\"", shape, offsets), 8); };
  ASSERT_TRUE(parse(f32("[2]", "[0,8]")).ok());
  for (const auto& shape : {"[3]", "[]", "[2,2]", "[0]", "[4611686018427387904,4]", "[4294967296,4294967296,0]"})
    expect_error(parse(f32(shape, "[0,8]")), Code::corrupt, {"tensor 'w'", "do not make the shape"});
  expect_error(parse(f32("[2]", "[1,8]")), Code::corrupt, {"tensor 'w'", "begin at 0"});
  expect_error(parse(f32("[2]", "[0,16]")), Code::corrupt, {"tensor 'w'", "end by 8"});
  expect_error(parse(f32("[2]", "[0,0]")), Code::corrupt, {"tensor 'w'"});
  expect_error(parse(f32("[2]", "[8,0]")), Code::corrupt, {"tensor 'w'"});
  for (const auto& offsets : {"[0]", "[0,8,8]", "[]", "[-1,8]", "[0,8.0]", "[0,1e1]", "[0,\"8\"]", "8", "[[0,8]]",
                              "[0,99999999999999999999]", "null"})
    expect_error(parse(f32("[2]", offsets)), Code::corrupt, {"tensor 'w'", "data_offsets"});
  for (const auto& shape : {"[-2]", "[2.0]", "2", "\"2\"", "[true]", "[null]", "[[2]]", "{}", "[9223372036854775808]"})
    expect_error(parse(f32(shape, "[0,8]")), Code::corrupt, {"tensor 'w'", "shape"});
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  expect_error(parse(f32("[2," + ones + "]", "[0,8]")), Code::corrupt, {"tensor 'w'", "64"});
  expect_error(parse(content(tensor("\"F31\"", "[2]", "[0,8]"), 8)), Code::corrupt, {"tensor 'w'", "'F31'"});
  expect_error(parse(content(tensor("7", "[2]", "[0,8]"), 8)), Code::corrupt, {"tensor 'w'", "dtype"});
}

TEST(ModelHeader, RefusesGapsAndOverlaps) {
  const auto two = [](const std::string& first, const std::string& second) {
    return content(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
                       R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}",
                   8);
  };
  EXPECT_TRUE(parse(two("[4,8]", "[0,4]")).ok());
  expect_error(parse(two("[0,4]", "[0,4]")), Code::corrupt, {"tensor 'b'", "begin at 4"});
  expect_error(parse(two("[0,4]", "[3,7]")), Code::corrupt, {"tensor 'b'", "begin at 4"});
  expect_error(parse(two("[0,4]", "[5,9]")), Code::corrupt, {"tensor 'b'", "begin at 4"});
}

TEST(ModelHeader, RefusesWhatIsNotTheFormat) {
  const std::string good = tensor("\"U8\"", "[2]", "[0,2]");
  ASSERT_TRUE(parse(content(good, 2)).ok());
  for (const std::string& header : {" " + good, "[]" + good, "\xef\xbb\xbf" + good, std::string("x")})
    expect_error(parse(content(header, 2)), Code::corrupt, {"begin with '{'"});
  // Behind a zero byte the JSON reader would not look.
  expect_error(parse(content(good + std::string(1, '\0') + "}}}", 2)), Code::corrupt, {"zero bytes"});
  for (const std::string& header : {good + "x", good + "{}", good.substr(0, good.size() - 1), std::string("{"),
                                    std::string("{'w':1}"), std::string("{\"\xff\":1}"), "/**/" + good})
    EXPECT_EQ(parse(content(header, 2)).error().code, Code::corrupt) << header;
  expect_error(parse(content(R"({"w":3})", 0)), Code::corrupt, {"a number", "'w'"});
  expect_error(parse(content(R"({"w":{"dtype":"U8","shape":[2]}})", 2)), Code::corrupt, {"tensor 'w'", "missing"});
  expect_error(parse(content(R"({"w":{"strides":[2]}})", 2)), Code::corrupt, {"tensor 'w'", "'strides'"});
  expect_error(parse(content(R"({"__metadata__":{"epochs":3}})", 0)), Code::corrupt, {"__metadata__", "'epochs'"});
  expect_error(parse(content(R"({"__metadata__":"x"})", 0)), Code::corrupt, {"a text", "__metadata__"});
}

TEST(ModelHeader, RefusesWhatIsThereTwice) {
  const std::string one = R"("w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  expect_error(parse(content("{" + one + "," + one + "}", 0)), Code::corrupt, {"'w'", "twice"});
  expect_error(parse(content(R"({"w":{"dtype":"U8","dtype":"U8"}})", 0)), Code::corrupt, {"'dtype'", "twice"});
  expect_error(parse(content(R"({"__metadata__":{"a":"1","a":"1"}})", 0)), Code::corrupt, {"'a'", "twice"});
  expect_error(parse(content(R"({"__metadata__":{},"__metadata__":{}})", 0)), Code::corrupt, {"__metadata__", "twice"});
}

TEST(ModelHeader, DeepNestingEndsAtOnce) {
  for (const std::string opening : {"[", "{\"a\":"}) {
    std::string deep = "{\"a\":";
    for (int i = 0; i < 1'000'000; ++i) deep += opening;
    expect_error(parse(content(deep, 0)), Code::corrupt, {"'a'"});
  }
}

TEST(ModelHeader, MessagesAreFitForATerminal) {
  const auto error = parse(content(R"({"\u001b[2J\u009b7m)" + std::string(500, 'n') + R"(":1})", 0)).error();
  EXPECT_NE(error.message.find("?[2J?7mnnn"), std::string::npos) << error.message;
  EXPECT_LT(error.message.size(), 300U);
  EXPECT_EQ(printable("caf\xc3\xa9", 4), "caf\xc3\xa9");
  EXPECT_EQ(printable("caf\xc3\xa9s", 4), "caf\xc3\xa9...");
}

}  // namespace
}  // namespace yoke::checkpoint
