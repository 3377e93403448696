#include "checkpoint/folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/scratch_folder.h"
#include "checkpoint/checkpoint_fixture.h"
#include "checkpoint/faulty_disk.h"
#include "checkpoint/lock.h"
#include "checkpoint/memory_disk.h"
#include "checkpoint/model_file_fixture.h"

namespace yoke::checkpoint {
namespace {

using Names = std::vector<std::string>;

Status save_version(Disk& disk, wire::Version version) {
  const auto moment = moment_of({small_layout()}, version, version);
  return save(disk, "dir", moment, deal(moment, 2), version);
}

void write_text(Disk& disk, const std::string& path, const std::string& text) {
  const std::vector<std::span<const std::byte>> bytes{std::as_bytes(std::span(text))};
  ASSERT_TRUE(disk.write(path, bytes).ok());
}

TEST(Folder, NamesSayTheVersion) {
  EXPECT_EQ(sealed_path("a/b", 500), "a/b/checkpoint-000000000500");
  EXPECT_EQ(making_path({"a", 7, 0xab}), "a/making-000000000007-00000000000000ab");
  EXPECT_EQ(version_sealed("checkpoint-000000000500"), 500U);
  EXPECT_EQ(version_sealed("checkpoint-1234567890123"), 1234567890123U);
  for (const auto* name : {"checkpoint-500", "checkpoint-", "checkpoint-00000000050x", "checkpoint--00000000500",
                           "making-000000000500-00000000000000ab", "best", "checkpoint-99999999999999999999999"})
    EXPECT_EQ(version_sealed(name), std::nullopt) << name;
  EXPECT_EQ(version_replaced("replaced-000000000500-00000000000000ab"), 500U);
  EXPECT_EQ(version_replaced("checkpoint-000000000500"), std::nullopt);
}

TEST(Folder, OneThatAFormerLifeMadeAndDidNotFlushLasts) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    MemoryDisk disk(seed);
    ASSERT_TRUE(disk.make_folder("dir").ok());  // and it died
    ASSERT_TRUE(clean(disk, "dir").ok());
    ASSERT_TRUE(save_version(disk, 1).ok());
    disk.power_cut();
    EXPECT_TRUE(disk.exists(sealed_path("dir", 1)).or_throw()) << "seed " << seed;
  }
}

TEST(Folder, PruningLeavesTheNewestAndWhatIsNoCheckpoint) {
  MemoryDisk disk;
  for (const wire::Version version : {9, 10, 100, 1000}) ASSERT_TRUE(save_version(disk, version).ok());
  ASSERT_TRUE(disk.make_folder("dir/best").ok());
  write_text(disk, "dir/best/model.safetensors", "x");
  write_text(disk, "dir/evaluations.json", "{}");
  write_text(disk, "dir/lock", "");
  const Names others{"best", "evaluations.json", "lock"};
  const auto expect_left = [&](Names left) {
    left.insert(left.end(), others.begin(), others.end());
    std::sort(left.begin(), left.end());
    EXPECT_EQ(*disk.list("dir"), left);
    EXPECT_TRUE(disk.content("dir/best/model.safetensors"));
  };
  ASSERT_TRUE(prune(disk, "dir", 3, 1000).ok());
  expect_left({"checkpoint-000000000010", "checkpoint-000000000100", "checkpoint-000000001000"});
  // The one of version 1000 was damaged, and training went on from 10 and came to 100 again.
  ASSERT_TRUE(prune(disk, "dir", 3, 100).ok());
  expect_left({"checkpoint-000000000010", "checkpoint-000000000100"});
  ASSERT_TRUE(prune(disk, "dir", 0, 100).ok());
  expect_left({"checkpoint-000000000100"});
}

TEST(Folder, CleaningRemovesWhatIsUnfinished) {
  MemoryDisk disk;
  ASSERT_TRUE(clean(disk, "dir").ok());
  ASSERT_TRUE(save_version(disk, 100).ok());
  ASSERT_TRUE(save_version(disk, 200).ok());
  const auto moment = moment_of({small_layout()}, 300, 3);
  ASSERT_TRUE(write_part(disk, {"dir", 300, 9, 0, 2}, deal(moment, 2)[0]).ok());
  ASSERT_TRUE(disk.rename("dir/checkpoint-000000000100", "dir/removing-000000000100").ok());
  ASSERT_TRUE(disk.rename("dir/checkpoint-000000000200", "dir/replaced-000000000200-00000000000000ab").ok());
  ASSERT_TRUE(clean(disk, "dir").ok());
  EXPECT_EQ(*disk.list("dir"), (Names{"checkpoint-000000000200"}));
  ASSERT_TRUE(disk.make_folder("dir/replaced-000000000200-00000000000000ab").ok());
  ASSERT_TRUE(clean(disk, "dir").ok());
  EXPECT_EQ(*disk.list("dir"), (Names{"checkpoint-000000000200"}));
}

TEST(Folder, CleaningLeavesWhatMayBeTheOnlyOneThatIsWhole) {
  MemoryDisk disk;
  ASSERT_TRUE(save_version(disk, 200).ok());
  ASSERT_TRUE(disk.rename("dir/checkpoint-000000000200", "dir/replaced-000000000200-00000000000000ab").ok());
  ASSERT_TRUE(disk.make_folder("dir/replaced-000000000200-00000000000000aa").ok());
  ASSERT_TRUE(clean(disk, "dir").ok());
  EXPECT_EQ(newest(disk, "dir")->checkpoint->manifest().version, 200U);
  ASSERT_TRUE(save_version(disk, 200).ok());
  ASSERT_TRUE(clean(disk, "dir").ok());
  EXPECT_EQ(*disk.list("dir"), (Names{"checkpoint-000000000200"}));
}

TEST(Folder, CleaningSurvivesAPowerCutThatUndoesWhatWasNotFlushed) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    MemoryDisk disk(seed);
    ASSERT_TRUE(save_version(disk, 200).ok());
    const auto crash = [&, flushes = 0](std::uint64_t, std::string_view operation,
                                        const std::string& path) mutable -> FaultyDisk::Answer {
      if (operation == "flush_folder" && path == "dir" && ++flushes == 1) throw std::runtime_error("dead");
      return {};
    };
    FaultyDisk mortal(disk, crash);
    EXPECT_ANY_THROW(static_cast<void>(save_version(mortal, 200)));  // both names are changed, neither lasts
    ASSERT_TRUE(clean(disk, "dir").ok());
    disk.power_cut();
    EXPECT_TRUE(newest(disk, "dir").ok() && newest(disk, "dir")->checkpoint) << "seed " << seed;
  }
}

TEST(Folder, DiscardingRemovesWhatWasMade) {
  MemoryDisk disk;
  ASSERT_TRUE(save_version(disk, 100).ok());
  const auto moment = moment_of({small_layout()}, 300, 3);
  const Place place{"dir", 300, 9, 0, 2};
  ASSERT_TRUE(write_part(disk, place, deal(moment, 2)[0]).ok());
  ASSERT_TRUE(discard(disk, place).ok());
  ASSERT_TRUE(discard(disk, place).ok());
  EXPECT_EQ(*disk.list("dir"), (Names{"checkpoint-000000000100"}));
}

TEST(Folder, TheNewestWholeOneIsFoundAndTheOthersNamed) {
  MemoryDisk disk;
  EXPECT_EQ(newest(disk, "dir").error().code, Code::missing);
  ASSERT_TRUE(disk.make_folder("dir").ok());
  EXPECT_FALSE(newest(disk, "dir")->checkpoint);
  for (const wire::Version version : {100, 200, 300}) ASSERT_TRUE(save_version(disk, version).ok());
  auto found = newest(disk, "dir");
  EXPECT_EQ(found->checkpoint->manifest().version, 300U);
  EXPECT_TRUE(found->passed_over.empty());

  disk.content("dir/checkpoint-000000000300/manifest.json")->pop_back();
  disk.content("dir/checkpoint-000000000200/part-1-of-2.values.safetensors")->back() ^= std::byte{4};
  found = newest(disk, "dir");
  EXPECT_EQ(found->checkpoint->folder(), "dir/checkpoint-000000000100");
  ASSERT_EQ(found->passed_over.size(), 2U);
  EXPECT_EQ(found->passed_over[0].folder, "dir/checkpoint-000000000300");
  EXPECT_NE(found->passed_over[0].why.find("manifest.json"), std::string::npos);
  EXPECT_NE(found->passed_over[1].why.find("part-1-of-2.values.safetensors: tensor table does"), std::string::npos)
      << found->passed_over[1].why;

  ASSERT_TRUE(disk.remove("dir/checkpoint-000000000100/part-0-of-2.json").ok());
  expect_error(newest(disk, "dir"), Code::corrupt,
               {"each", "000000000100/part-0-of-2.json", "000000000200/part-1", "000000000300/manifest.json"});
}

TEST(Folder, OneJobAtATimeWritesThere) {
  ScratchFolder folder;
  {
    auto lock = lock_folder(folder.path());
    ASSERT_TRUE(lock.ok()) << lock.error().message;
    const Lock held = std::move(*lock);
    expect_error(lock_folder(folder.path()), Code::refused,
                 {folder.path(), "process " + std::to_string(::getpid()), "another folder"});
  }
  EXPECT_TRUE(lock_folder(folder.path()).ok());
  expect_error(lock_folder(folder.path() + "/absent"), Code::missing, {"absent/lock", "No such file"});
}

}  // namespace
}  // namespace yoke::checkpoint
