#include "checkpoint/memory_disk.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>

namespace yoke::checkpoint {
namespace {

Status write(Disk& disk, const std::string& path, const std::string& text) {
  const std::vector<std::span<const std::byte>> bytes{std::as_bytes(std::span(text))};
  return disk.write(path, bytes);
}

std::optional<std::string> text_of(Disk& disk, const std::string& path) {
  const auto size = disk.size(path);
  if (!size) return std::nullopt;
  std::string text(*size, '\0');
  EXPECT_EQ(*disk.read(path, 0, std::as_writable_bytes(std::span(text))), text.size());
  return text;
}

// What different seeds leave of what `work` did.
std::set<std::optional<std::string>> left_of(const std::string& path, const std::function<void(Disk&)>& work) {
  std::set<std::optional<std::string>> left;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    MemoryDisk disk(seed), again(seed);
    for (auto* one : {&disk, &again}) {
      work(*one);
      one->power_cut();
    }
    const auto text = text_of(disk, path);
    EXPECT_EQ(text_of(again, path), text) << "the seed decides";
    disk.power_cut();
    EXPECT_EQ(text_of(disk, path), text) << "what survived one stays";
    left.insert(text);
  }
  return left;
}

TEST(MemoryDisk, WhatWasFlushedStays) {
  const auto left = left_of("d/f", [](Disk& disk) {
    EXPECT_TRUE(disk.make_folder("d").ok() && write(disk, "d/f", "words").ok() && disk.flush_file("d/f").ok() &&
                disk.flush_folder("d").ok() && disk.flush_folder("").ok());
  });
  EXPECT_EQ(left, (std::set<std::optional<std::string>>{"words"}));
}

TEST(MemoryDisk, BytesThatWereNotFlushedMayBeAnything) {
  const auto left = left_of("f", [](Disk& disk) {
    EXPECT_TRUE(write(disk, "f", "before").ok() && disk.flush_file("f").ok() && disk.flush_folder("").ok());
    EXPECT_TRUE(write(disk, "f", "after it").ok());
  });
  for (const auto* one : {"before", "after it", "aft", ""}) EXPECT_TRUE(left.contains(one)) << one;
  EXPECT_GT(left.size(), 20U);  // garbage
  EXPECT_FALSE(left.contains(std::nullopt));
}

TEST(MemoryDisk, NamesThatWereNotFlushedAreThereOrNot) {
  const auto left =
      left_of("f", [](Disk& disk) { EXPECT_TRUE(write(disk, "f", "words").ok() && disk.flush_file("f").ok()); });
  EXPECT_EQ(left, (std::set<std::optional<std::string>>{std::nullopt, "words"}));
  const auto removed = left_of("f", [](Disk& disk) {
    EXPECT_TRUE(write(disk, "f", "words").ok() && disk.flush_file("f").ok() && disk.flush_folder("").ok());
    EXPECT_TRUE(disk.remove("f").ok());
    EXPECT_FALSE(*disk.exists("f"));
  });
  EXPECT_EQ(removed, (std::set<std::optional<std::string>>{std::nullopt, "words"}));
}

TEST(MemoryDisk, ARenameIsWholeOrNotThere) {
  std::set<std::vector<std::string>> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    MemoryDisk disk(seed);
    ASSERT_TRUE(write(disk, "a", "1").ok() && disk.flush_file("a").ok() && disk.flush_folder("").ok());
    ASSERT_TRUE(disk.rename("a", "b").ok());
    disk.power_cut();
    seen.insert(*disk.list(""));
  }
  EXPECT_EQ(seen, (std::set<std::vector<std::string>>{{"a"}, {"b"}}));
}

// Else what is removed under one name would be gone under the other.
TEST(MemoryDisk, NothingHasTwoNamesAfterAPowerCut) {
  std::set<std::vector<std::string>> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    MemoryDisk disk(seed);
    ASSERT_TRUE(write(disk, "a", "1").ok() && disk.flush_file("a").ok() && disk.flush_folder("").ok());
    ASSERT_TRUE(disk.rename("a", "b").ok() && disk.rename("b", "c").ok());
    disk.power_cut();
    seen.insert(*disk.list(""));
  }
  EXPECT_EQ(seen, (std::set<std::vector<std::string>>{{"a"}, {"b"}, {"c"}}));
}

TEST(MemoryDisk, SaysWhatItCannotDo) {
  MemoryDisk disk;
  EXPECT_FALSE(disk.make_folder("no/such").ok());
  EXPECT_FALSE(write(disk, "no/such", "").ok());
  EXPECT_FALSE(disk.flush_file("f").ok());
  EXPECT_FALSE(disk.flush_folder("d").ok());
  EXPECT_FALSE(disk.rename("a", "b").ok());
  EXPECT_FALSE(disk.list("d").ok());
  EXPECT_TRUE(disk.remove("f").ok());
  disk.hold_at_most(5);
  EXPECT_TRUE(write(disk, "a", "123").ok());
  EXPECT_FALSE(write(disk, "b", "456").ok());
  EXPECT_EQ(text_of(disk, "b"), "45");
  EXPECT_TRUE(disk.remove("a").ok());
  EXPECT_TRUE(write(disk, "b", "45678").ok());
}

}  // namespace
}  // namespace yoke::checkpoint
