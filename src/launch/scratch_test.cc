#include "launch/scratch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace yoke::launch {
namespace {

namespace fs = std::filesystem;

Lookup lookup_in(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

std::unique_ptr<Scratch> make(std::map<std::string, std::string> variables) {
  auto made = Scratch::make(lookup_in(std::move(variables)));
  EXPECT_TRUE(made.ok()) << made.error().message;
  return made ? std::move(*made) : nullptr;
}

TEST(Scratch, GoesWithAllThatIsInIt) {
  std::string path;
  {
    const auto scratch = make({});
    ASSERT_TRUE(scratch);
    path = scratch->path();
    EXPECT_TRUE(path.starts_with("/tmp/yoke-")) << path;
    struct stat about = {};
    ASSERT_EQ(stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 07777U, 0700U);
    EXPECT_EQ(about.st_uid, geteuid());
    std::ofstream(*socket_in(scratch->path(), "s0")) << "x";
    fs::create_directories(path + "/a/b");
    EXPECT_TRUE(fs::exists(path + "/s0"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(Scratch, OnlyItsMakerRemovesIt) {
  auto scratch = make({});
  ASSERT_TRUE(scratch);
  const pid_t other = fork();
  if (other == 0) {
    scratch.reset();
    _exit(0);
  }
  EXPECT_EQ(waitpid(other, nullptr, 0), other);
  EXPECT_TRUE(fs::exists(scratch->path()));
}

TEST(Scratch, LiesInTheFirstFolderThatDoes) {
  const auto outer = make({});
  ASSERT_TRUE(outer);
  const auto& here = outer->path();
  const auto inside = [&](const std::unique_ptr<Scratch>& scratch) {
    return scratch && scratch->path().starts_with(here + "/yoke-");
  };
  EXPECT_TRUE(inside(make({{"XDG_RUNTIME_DIR", here}, {"TMPDIR", "/no/such/folder"}})));
  EXPECT_TRUE(inside(make({{"TMPDIR", here}})));
  EXPECT_TRUE(inside(make({{"XDG_RUNTIME_DIR", "/no/such/folder"}, {"TMPDIR", here}})));
  EXPECT_TRUE(inside(make({{"XDG_RUNTIME_DIR", "relative"}, {"TMPDIR", here}})));
  EXPECT_TRUE(inside(make({{"XDG_RUNTIME_DIR", ""}, {"TMPDIR", here}})));
  const auto long_one = here + "/" + std::string(80, 'x');
  fs::create_directory(long_one);
  EXPECT_TRUE(inside(make({{"XDG_RUNTIME_DIR", long_one}, {"TMPDIR", here}})));
}

TEST(Scratch, PathsOfSocketsHaveALimit) {
  const auto scratch = make({});
  ASSERT_TRUE(scratch);
  const auto room = Scratch::kLongestPath - scratch->path().size() - 1;
  ASSERT_GE(room, Scratch::kLongestName);
  const auto longest = socket_in(scratch->path(), std::string(room, 's'));
  ASSERT_TRUE(longest.ok());
  EXPECT_EQ(longest->size(), Scratch::kLongestPath);
  const auto longer = socket_in(scratch->path(), std::string(room + 1, 's'));
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().code, Code::invalid_argument);
  EXPECT_TRUE(longer.error().message.ends_with("has 108 bytes: the path of a socket has at most 107"));
}

}  // namespace
}  // namespace yoke::launch
