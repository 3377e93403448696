#include "data/file.h"

#include "data/expect_error.h"
#include "data/scratch_folder.h"

namespace yoke::data {
namespace {

TEST(File, ReadsPlainAndGzip) {
  ScratchFolder folder;
  const std::string content("a\0b\r\n", 5);
  for (const auto& file : {folder.plain("f", content), folder.gzip("f.gz", content)}) {
    const auto bytes = read_file(file);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    EXPECT_EQ(std::string(bytes->begin(), bytes->end()), content);
  }
  EXPECT_TRUE(read_file(folder.plain("empty", "")).value().empty());
}

TEST(File, RefusesGzipThatIsCutOffOrDamagedOrTooLong) {
  ScratchFolder folder;
  std::string noise;
  for (std::uint32_t i = 0, state = 1; i < 100'000; ++i) {
    noise += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  }
  std::ifstream in(folder.gzip("whole.gz", noise), std::ios::binary);
  const std::string packed((std::istreambuf_iterator<char>(in)), {});

  EXPECT_EQ(read_file(folder.path() + "/whole.gz", noise.size()).value().size(), noise.size());
  expect_error(read_file(folder.path() + "/whole.gz", noise.size() - 1), Code::corrupt,
               {"/whole.gz", "limit of 99999 bytes"});
  expect_error(read_file(folder.plain("cut.gz", packed.substr(0, packed.size() / 2))), Code::corrupt,
               {"/cut.gz", "unexpected end"});
  auto flipped = packed;
  flipped[flipped.size() / 2] ^= 1;
  expect_error(read_file(folder.plain("flipped.gz", flipped)), Code::corrupt, {"/flipped.gz"});
}

TEST(File, SaysWhatCannotBeRead) {
  ScratchFolder folder;
  expect_error(read_file(folder.path() + "/none"), Code::missing, {"/none: No such file"});
  expect_error(read_file(folder.path()), Code::missing, {folder.path(), "directory"});
  EXPECT_TRUE(is_there(folder.path()));
  EXPECT_FALSE(is_there(folder.path() + "/none"));
  EXPECT_EQ(within("prices.csv", Error{Code::corrupt, "line 3"}).message, "prices.csv: line 3");
}

}  // namespace
}  // namespace yoke::data
