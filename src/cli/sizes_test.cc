#include "cli/sizes.h"

#include <gtest/gtest.h>

namespace yoke::cli {
namespace {

TEST(Sizes, are_read_with_their_units) {
  EXPECT_EQ(*bytes_of("--memory", "4096"), 4096u);
  EXPECT_EQ(*bytes_of("--memory", "512M"), 512u << 20);
  EXPECT_EQ(*bytes_of("--memory", "1.5GiB"), 3u << 29);
  EXPECT_EQ(*bytes_of("--memory", "2KB"), 2048u);
}

TEST(Sizes, what_makes_no_sense_is_named) {
  for (const auto* text : {"", "G", "-1G", "2X", "nan", "1e30", "0", "2MG"}) {
    const auto bytes = bytes_of("--memory", text);
    ASSERT_FALSE(bytes) << text;
    EXPECT_NE(bytes.error().message.find("--memory"), std::string::npos);
  }
}

}  // namespace
}  // namespace yoke::cli
