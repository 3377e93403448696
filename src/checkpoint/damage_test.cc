// Whatever happens to the bytes of a checkpoint, it is refused, and the file is named.
#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/checkpoint_fixture.h"
#include "checkpoint/memory_disk.h"
#include "checkpoint/model_file_fixture.h"

namespace yoke::checkpoint {
namespace {

const std::string kFolder = "dir/checkpoint-000000000500";

class Damage : public testing::Test {
 protected:
  Damage() : moment_(moment_of({small_layout()}, 500, 7)) {
    EXPECT_TRUE(save(disk_, "dir", moment_, deal(moment_, 2)).ok());
    files_ = disk_.list(kFolder).value();
  }
  std::vector<std::byte>& content(const std::string& name) { return *disk_.content(kFolder + "/" + name); }
  Result<std::shared_ptr<const Checkpoint>> open() { return Checkpoint::open(disk_, kFolder); }
  void expect_whole() {
    const auto opened = open();
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    expect_equal(**opened, moment_);
  }

  MemoryDisk disk_;
  const Moment moment_;
  std::vector<std::string> files_;
};

TEST_F(Damage, EveryFlippedBitIsRefusedAndItsFileNamed) {
  ASSERT_EQ(files_.size(), 7U);
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const auto& name = files_[mix(1, i) % files_.size()];
    auto& bytes = content(name);
    const auto at = mix(2, i) % bytes.size();
    const auto bit = std::byte(1U << mix(3, i) % 8);
    bytes[at] ^= bit;
    const auto opened = open();
    ASSERT_FALSE(opened.ok()) << name << " byte " << at;
    ASSERT_EQ(opened.error().code, Code::corrupt);
    ASSERT_TRUE(opened.error().message.starts_with(kFolder + "/" + name + ": "))
        << name << " byte " << at << ": " << opened.error().message;
    bytes[at] ^= bit;
  }
  expect_whole();
}

TEST_F(Damage, TheTensorIsNamedThatItLiesIn) {
  auto& bytes = content("part-1-of-2.state.safetensors");
  bytes.back() ^= std::byte{1};
  expect_error(open(), Code::corrupt, {"part-1-of-2.state.safetensors: tensor scale.state0 does not have the sum"});
  bytes.back() ^= std::byte{1};
  bytes[20] ^= std::byte{1};
  expect_error(open(), Code::corrupt, {"part-1-of-2.state.safetensors: the header does not have the sum"});
}

TEST_F(Damage, EveryLengthButItsOwnIsRefused) {
  for (const auto& name : files_) {
    auto& bytes = content(name);
    const auto good = bytes;
    for (std::size_t length = 0; length <= good.size() + 40; length += length + 40 < good.size() ? 13 : 1) {
      if (length == good.size()) continue;
      bytes = good;
      bytes.resize(length);
      expect_error(open(), Code::corrupt, {kFolder + "/" + name + ": "});
    }
    bytes = good;
  }
  expect_whole();
}

TEST_F(Damage, EveryFileMustBeThere) {
  for (const auto& name : files_) {
    const auto path = kFolder + "/" + name;
    ASSERT_TRUE(disk_.rename(path, kFolder + "/away").ok());
    const auto opened = open();
    expect_error(opened, name == "manifest.json" ? Code::missing : Code::corrupt, {path});
    ASSERT_TRUE(disk_.rename(kFolder + "/away", path).ok());
  }
  expect_whole();
}

TEST_F(Damage, EveryTwoFilesSwappedAreRefused) {
  for (const auto& one : files_) {
    for (const auto& other : files_) {
      if (one >= other) continue;
      std::swap(content(one), content(other));
      EXPECT_FALSE(open().ok()) << one << " and " << other;
      std::swap(content(one), content(other));
    }
  }
  expect_whole();
}

// Each whole in itself, and sealed with what it has: only together they make no sense.
TEST_F(Damage, PartsOfTwoCheckpointsDoNotMakeOne) {
  auto other = moment_of({small_layout()}, 500, 8);
  ASSERT_TRUE(save(disk_, "other", other, deal(other, 2)).ok());
  for (const auto& name : files_) {
    const auto good = content(name);
    content(name) = *disk_.content("other/checkpoint-000000000500/" + name);
    if (content(name) == good) continue;
    EXPECT_FALSE(open().ok()) << name;
    content(name) = good;
  }
  expect_whole();
}

TEST_F(Damage, WhatElseLiesThereDoesNoHarm) {
  const std::vector<std::span<const std::byte>> bytes{std::as_bytes(std::span("notes"))};
  ASSERT_TRUE(disk_.write(kFolder + "/notes.txt", bytes).ok());
  expect_whole();
}

}  // namespace
}  // namespace yoke::checkpoint
