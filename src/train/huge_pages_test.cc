#include "train/huge_pages.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "train/fake_root.h"
#include "train/machine.h"

namespace yoke::train {
namespace {

// The environment as if nobody had said anything of malloc, and afterwards as it was.
class AskingForHugePages : public ::testing::Test {
 protected:
  AskingForHugePages() {
    for (const char* name : {"GLIBC_TUNABLES", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"}) {
      const char* const value = std::getenv(name);
      before_[name] = value ? std::optional<std::string>(value) : std::nullopt;
      unsetenv(name);
    }
  }
  ~AskingForHugePages() override {
    for (const auto& [name, value] : before_)
      if (value)
        setenv(name.c_str(), value->c_str(), 1);
      else
        unsetenv(name.c_str());
  }
  const std::string& kernel_says(const std::string& text) {
    return root_.file("/sys/kernel/mm/transparent_hugepage/enabled", text).path();
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
  FakeRoot root_;
};

TEST_F(AskingForHugePages, HappensOnceWhereTheKernelGivesThemToWhoAsks) {
  const auto& root = kernel_says("always [madvise] never\n");
  EXPECT_TRUE(ask_for_huge_pages(root));
  ASSERT_NE(std::getenv("GLIBC_TUNABLES"), nullptr);
  EXPECT_STREQ(std::getenv("GLIBC_TUNABLES"), kHugePagesPlease);
  EXPECT_FALSE(ask_for_huge_pages(root)) << "the program would start again and again";
  EXPECT_TRUE(read_machine().malloc_settings.empty()) << "nobody else has said it";
}

TEST_F(AskingForHugePages, DoesNotHappenWhereItChangesNothing) {
  for (const char* text : {"[always] madvise never\n", "always madvise [never]\n", ""}) {
    EXPECT_FALSE(ask_for_huge_pages(kernel_says(text))) << text;
    EXPECT_EQ(std::getenv("GLIBC_TUNABLES"), nullptr) << text;
  }
}

TEST_F(AskingForHugePages, LeavesWhatTheUserHasSaidOfMalloc) {
  const auto& root = kernel_says("always [madvise] never\n");
  setenv("MALLOC_TRIM_THRESHOLD_", "1", 1);
  EXPECT_FALSE(ask_for_huge_pages(root));
  EXPECT_EQ(std::getenv("GLIBC_TUNABLES"), nullptr);
  unsetenv("MALLOC_TRIM_THRESHOLD_");
  setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1);
  EXPECT_FALSE(ask_for_huge_pages(root));
  EXPECT_STREQ(std::getenv("GLIBC_TUNABLES"), "glibc.malloc.tcache_count=0");
  EXPECT_EQ(read_machine().malloc_settings.size(), 1u);
}

}  // namespace
}  // namespace yoke::train
