#include "train/machine.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

#include "train/fake_root.h"

namespace yoke::train {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

TEST(Cpuinfo, NamesTheFirstCoreAndTheInstructionsThatMatter) {
  const auto cpu = parse_cpuinfo(
      "processor\t: 0\nmodel name\t: Some  CPU @ 2.80GHz \nflags\t\t: fpu sse avx fma avx2 avx512f amx_tile avx5\n\n"
      "processor\t: 1\nmodel name\t: Another\nflags\t\t: avx512_bf16\n");
  EXPECT_EQ(cpu.model, "Some  CPU @ 2.80GHz");
  EXPECT_EQ(cpu.instructions, (std::vector<std::string>{"avx", "avx2", "fma", "avx512f", "amx_tile"}));
  EXPECT_TRUE(cpu.has("avx2"));
  EXPECT_FALSE(cpu.has("avx512_bf16"));
  EXPECT_EQ(operations_per_cycle(cpu), 64);
}

TEST(Cpuinfo, OtherMakersAndNone) {
  const auto arm = parse_cpuinfo("processor : 0\nFeatures : fp asimd sve\n");
  EXPECT_EQ(arm.model, "");
  EXPECT_EQ(operations_per_cycle(arm), 16);
  EXPECT_EQ(operations_per_cycle(parse_cpuinfo("flags : avx avx2 fma")), 32);
  EXPECT_EQ(operations_per_cycle(parse_cpuinfo("flags : avx")), 16);
  EXPECT_EQ(operations_per_cycle(parse_cpuinfo("flags :")), 8);
  EXPECT_TRUE(parse_cpuinfo("").instructions.empty());
}

TEST(HugePages, WhatIsInBrackets) {
  EXPECT_EQ(parse_huge_pages("always [madvise] never\n"), "madvise");
  EXPECT_EQ(parse_huge_pages("[always] madvise never"), "always");
  for (const auto* text : {"", "always", "]always["}) EXPECT_EQ(parse_huge_pages(text), "") << text;
}

TEST(Load, TheLastMinutes) {
  EXPECT_EQ(parse_load("2.25 1.00 0.50 3/99 1234\n"), 2.25);
  for (const auto* text : {"", "\n", "many"}) EXPECT_EQ(parse_load(text), 0) << text;
}

TEST(Machine, WithoutGroupsTheKernelsWordCounts) {
  FakeRoot root;
  root.file("/proc/meminfo", "MemTotal:        8388608 kB\nMemFree: 1 kB\nMemAvailable:    4194304 kB\n")
      .file("/proc/cpuinfo", "model name : A CPU\nflags : avx avx2 fma\n")
      .file("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  const auto machine = read_machine(root.path());
  EXPECT_EQ(machine.cpu.model, "A CPU");
  EXPECT_EQ(machine.memory, 8 * kGiB);
  EXPECT_EQ(machine.memory_available, 4 * kGiB);
  EXPECT_EQ(available_memory(root.path()), 4 * kGiB);
  EXPECT_EQ(machine.huge_pages, "never");
  EXPECT_FALSE(machine.quota);
  EXPECT_GE(machine.cores, 1U);
  EXPECT_GE(machine.cores_there, machine.cores);
}

TEST(Machine, TheGroupsLimitsCount) {
  FakeRoot root;
  root.file("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n")
      .file("/proc/self/cgroup", "0::/box\n")
      .file("/sys/fs/cgroup/box/memory.max", std::to_string(2 * kGiB))
      .file("/sys/fs/cgroup/box/memory.current", std::to_string(kGiB))
      .file("/sys/fs/cgroup/box/cpu.max", "50000 100000\n");
  const auto machine = read_machine(root.path());
  EXPECT_EQ(machine.memory, 2 * kGiB);
  EXPECT_EQ(machine.memory_available, kGiB);
  EXPECT_EQ(machine.quota, 0.5);
  EXPECT_EQ(machine.cores, 1U);
}

TEST(Machine, AGroupWiderThanTheMachineChangesNothing) {
  FakeRoot root;
  root.file("/proc/meminfo", "MemTotal: 2097152 kB\nMemAvailable: 1048576 kB\n")
      .file("/proc/self/cgroup", "0::/\n")
      .file("/sys/fs/cgroup/memory.max", std::to_string(64 * kGiB))
      .file("/sys/fs/cgroup/memory.current", "0")
      .file("/sys/fs/cgroup/cpu.max", "100000000 1000\n");
  const auto machine = read_machine(root.path());
  EXPECT_EQ(machine.memory, 2 * kGiB);
  EXPECT_EQ(machine.memory_available, kGiB);
  EXPECT_LE(machine.cores, machine.cores_there);
}

TEST(Machine, AnUnreadableMachineIsNotMadeUp) {
  FakeRoot root;
  const auto machine = read_machine(root.path());
  EXPECT_EQ(machine.cpu.model, "");
  EXPECT_EQ(machine.memory, 0U);
  EXPECT_EQ(machine.memory_available, 0U);
  EXPECT_EQ(machine.huge_pages, "");
}

TEST(Machine, MallocSettingsOfTheEnvironment) {
  setenv("MALLOC_ARENA_MAX", "2", 1);
  const auto with = read_machine().malloc_settings;
  EXPECT_NE(std::find(with.begin(), with.end(), "MALLOC_ARENA_MAX=2"), with.end());
  unsetenv("MALLOC_ARENA_MAX");
  const auto without = read_machine().malloc_settings;
  EXPECT_EQ(std::find(without.begin(), without.end(), "MALLOC_ARENA_MAX=2"), without.end());
}

TEST(Machine, ThisOne) {
  const auto machine = read_machine();
  EXPECT_GT(machine.memory, 0U);
  EXPECT_GT(available_memory(), 0U);
  EXPECT_LE(machine.memory_available, machine.memory);
}

TEST(CopyBandwidth, CopiesAtLeastOnce) {
  EXPECT_GT(copy_bandwidth(1, 0), 0);
  EXPECT_GT(copy_bandwidth(3, 0), 0);
}

}  // namespace
}  // namespace yoke::train
