#include "data/run_program.h"

#include <gtest/gtest.h>

namespace yoke::data {
namespace {

TEST(RunProgram, EndsWhatTakesTooLong) {
  const auto ended = run_program({"sleep", "1000"}, "/", std::chrono::seconds(0));
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, Code::timed_out);
  EXPECT_EQ(ended.error().message, "sleep was still at work after 0 s");
}

TEST(RunProgram, SaysHowItEnded) {
  const auto limit = std::chrono::seconds(60);
  const auto ended = run_program({"sh", "-c", "pwd; echo b >&2; cat; exit 3"}, "/usr", limit);
  ASSERT_TRUE(ended.ok()) << ended.error().message;
  EXPECT_EQ(ended->status, 3);
  EXPECT_EQ(ended->output, "/usr\nb\n");
  EXPECT_EQ(run_program({"sh", "-c", "kill -9 $$"}, "/", limit)->status, 137);
  EXPECT_EQ(run_program({"head", "-c", "100000", "/dev/zero"}, "/", limit)->output.size(), 65'536U);
}

TEST(RunProgram, ThereIsNoSuchProgram) {
  const auto ended = run_program({"no-such-program-at-all"}, "/", std::chrono::seconds(60));
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, Code::missing);
  EXPECT_EQ(ended.error().message, "no-such-program-at-all cannot be run: No such file or directory");
}

}  // namespace
}  // namespace yoke::data
