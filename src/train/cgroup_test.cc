#include "train/cgroup.h"

#include <gtest/gtest.h>

#include "train/fake_root.h"
#include "train/proc_text.h"

namespace yoke::train {
namespace {

using Folders = std::vector<std::string>;

class Cgroup : public testing::Test {
 protected:
  void file(const std::string& path, const std::string& content) { root_.file(path, content); }
  std::optional<double> cores() const { return cgroup_cores(root_.path()); }
  std::optional<CgroupMemory> memory() const { return cgroup_memory(root_.path()); }

 private:
  FakeRoot root_;
};

TEST(ProcText, Numbers) {
  EXPECT_EQ(parse_number(" 12 kB\n"), 12U);
  for (const auto* none : {"", "max", "-1", "12kB", "99999999999999999999"}) EXPECT_FALSE(parse_number(none)) << none;
  EXPECT_EQ(parse_field("MemTotalX: 1 kB\nMemTotal:   7 kB\n", "MemTotal"), 7U);
  EXPECT_EQ(parse_field("total_inactive_file 5\ninactive_file 6", "inactive_file"), 6U);
  EXPECT_FALSE(parse_field("a 1\n", "b"));
  EXPECT_EQ(split_text("a::b", ':'), (std::vector<std::string_view>{"a", "", "b"}));
}

TEST(CgroupFolders, OwnGroupFirstThenThoseAround) {
  EXPECT_EQ(cgroup_folders("0::/a/b\n", "memory"),
            (Folders{"/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"}));
  EXPECT_EQ(cgroup_folders("0::/\n", "cpu"), (Folders{"/sys/fs/cgroup"}));
  EXPECT_EQ(cgroup_folders("5:cpu,cpuacct:/x:y\n4:memory:/m\n3:cpuset:/s\n", "cpu"),
            (Folders{"/sys/fs/cgroup/cpu/x:y", "/sys/fs/cgroup/cpu"}));
  EXPECT_TRUE(cgroup_folders("", "cpu").empty());
  EXPECT_TRUE(cgroup_folders("nonsense\n1:2\n", "cpu").empty());
}

TEST(CpuMax, Quotas) {
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 1.5);
  for (const auto* none : {"max 100000", "", "100000", "-1 100000", "1 0", "0 1", "1 2 3"})
    EXPECT_FALSE(parse_cpu_max(none)) << none;
}

TEST_F(Cgroup, NoneWithoutLimits) {
  EXPECT_FALSE(cores());
  EXPECT_FALSE(memory());
  file("/proc/self/cgroup", "4:memory:/\n1:cpu:/\n0::/\n");
  file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n");
  EXPECT_FALSE(cores());
  EXPECT_FALSE(memory());
}

TEST_F(Cgroup, SecondVersionTakesTheTightestOnTheWayUp) {
  file("/proc/self/cgroup", "0::/outer/inner\n");
  file("/sys/fs/cgroup/outer/cpu.max", "200000 100000\n");
  file("/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  file("/sys/fs/cgroup/outer/memory.max", "1000\n");
  file("/sys/fs/cgroup/outer/memory.current", "900\n");
  file("/sys/fs/cgroup/outer/inner/memory.max", "800\n");
  file("/sys/fs/cgroup/outer/inner/memory.current", "300\n");
  file("/sys/fs/cgroup/outer/inner/memory.stat", "anon 1\ninactive_file 100\n");
  EXPECT_EQ(cores(), 2.0);
  ASSERT_TRUE(memory());
  EXPECT_EQ(memory()->limit, 800U);
  EXPECT_EQ(memory()->room, 100U);  // the outer group is nearly full
  file("/sys/fs/cgroup/outer/memory.stat", "inactive_file 650\n");
  EXPECT_EQ(memory()->room, 600U);  // 800 - (300 - 100)
}

TEST_F(Cgroup, FirstVersionInAContainerWhoseInnerFoldersAreNotThere) {
  file("/proc/self/cgroup", "4:memory:/docker/abc\n1:cpu,cpuacct:/docker/abc\n");
  file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
  file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n");
  file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1200\n");
  file("/sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 50\n");
  EXPECT_EQ(cores(), 3.0);
  ASSERT_TRUE(memory());
  EXPECT_EQ(memory()->limit, 1000U);
  EXPECT_EQ(memory()->room, 0U);
}

}  // namespace
}  // namespace yoke::train
