#include "checkpoint/write.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "base/scratch_folder.h"
#include "checkpoint/checkpoint_fixture.h"
#include "checkpoint/memory_disk.h"
#include "checkpoint/model_file_fixture.h"

namespace yoke::checkpoint {
namespace {

const Moment kMoment = moment_of({small_layout()}, 500, 7);

std::vector<std::uint64_t> write_all(Disk& disk, const std::vector<Part>& parts) {
  std::vector<std::uint64_t> sums;
  for (wire::ShardId shard = 0; shard < parts.size(); ++shard) {
    const auto sum = write_part(disk, {"dir", 500, 9, shard, static_cast<std::uint32_t>(parts.size())}, parts[shard]);
    EXPECT_TRUE(sum.ok()) << sum.error().message;
    sums.push_back(*sum);
  }
  return sums;
}

TEST(Write, ThePartsThatCannotBeSeenAreNamed) {
  MemoryDisk disk;
  const Place place{"dir", 500, 9, 0, 3};
  auto sums = write_all(disk, deal(kMoment, 3));
  ASSERT_TRUE(disk.remove(making_path(place) + "/part-1-of-3.json").ok());
  expect_error(seal(disk, place, kMoment.manifest, sums), Code::missing, {"server 1 ", "must be one that all servers"});
  sums = write_all(disk, deal(kMoment, 3));
  ++sums[2];
  expect_error(seal(disk, place, kMoment.manifest, sums), Code::missing, {"server 2 "});
  EXPECT_FALSE(newest(disk, "dir")->checkpoint);
  --sums[2];
  EXPECT_TRUE(seal(disk, place, kMoment.manifest, sums).ok());
}

// What would not load is not sealed.
TEST(Write, WhatIsNotWholeIsNotSealed) {
  const auto expect_refused = [&](const std::vector<Part>& parts, std::initializer_list<std::string> words) {
    MemoryDisk disk;
    const auto sums = write_all(disk, parts);
    expect_error(seal(disk, {"dir", 500, 9, 0, 2}, kMoment.manifest, sums), Code::corrupt, words);
    EXPECT_FALSE(newest(disk, "dir")->checkpoint);
  };
  const auto good = deal(kMoment, 2);
  const auto is = [](const Piece& piece, const std::string& slot, Kind kind) {
    return piece.of.slot == slot && piece.of.kind == kind;
  };
  auto parts = good;
  std::erase_if(parts[0].pieces, [&](const Piece& piece) { return is(piece, "fc.weight", Kind::values); });
  expect_refused(parts, {"'fc.weight': floats", "in no part"});
  parts = good;
  for (auto& part : parts)
    std::erase_if(part.pieces, [&](const Piece& piece) { return is(piece, "table", Kind::values); });
  expect_refused(parts, {"'table': floats 0 to 14 are in no part"});
  parts = good;
  for (const auto& piece : good[1].pieces)
    if (is(piece, "scale", Kind::state)) parts[0].pieces.push_back(piece);
  for (const auto& piece : good[0].pieces)
    if (is(piece, "scale", Kind::state)) parts[1].pieces.push_back(piece);
  expect_refused(parts, {"state", "'scale'", "there twice"});
  parts = good;
  for (auto& part : parts)
    std::erase_if(part.pieces,
                  [&](const Piece& piece) { return is(piece, "scale", Kind::state) && piece.of.array == 0; });
  expect_refused(parts, {"state 1 of 'scale'", "the one before it"});
  parts = good;
  parts[1].pieces.push_back({{0, "stranger"}, {1}, 0, good[0].pieces[0].values.first(1)});
  expect_refused(parts, {"part-1-of-2.values.safetensors: tensor stranger"});
}

TEST(Write, PiecesThatDoNotFitAreRefused) {
  const std::vector<float> values(10);
  const auto expect_refused = [&](std::vector<Piece> pieces, const std::string& words) {
    MemoryDisk disk;
    expect_error(write_part(disk, {"dir", 500, 9, 0, 1}, {std::move(pieces), {}, {}}), Code::invalid_argument, {words});
  };
  expect_refused({{{0, "w"}, {9}, 0, values}}, "longer than its slot");
  expect_refused({{{0, "w"}, {10}, UINT64_MAX, values}}, "longer than its slot");
  expect_refused({{{0, "w"}, {-1}, 0, values}}, "longer than its slot");
  expect_refused({{{0, "w"}, {100}, 0, values}, {{0, "w"}, {100}, 9, values}}, "overlaps");
  expect_refused({{{0, "w", Kind::state}, {10}, 0, values}}, "no count");
  expect_refused({{{0, "w\xff"}, {10}, 0, values}}, "UTF-8");
}

// Names that a user's model may have, though they look like what Yoke makes of others.
TEST(Write, NamesNeedNotBeUnlikeOthers) {
  const std::vector<float> values(10, 1);
  Layout layout{{{"a", {10}}, {"network1.a", {10}}, {"a.state0", {10}}, {"a[0:5]", {10}}}, {SGD{}}};
  const auto moment = moment_of({layout, layout}, 500, 3);
  for (const std::size_t size : {10, 5}) {
    MemoryDisk disk;
    ASSERT_TRUE(save(disk, "dir", moment, deal(moment, 2, size)).ok());
    const auto opened = Checkpoint::open(disk, sealed_path("dir", 500));
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    expect_equal(**opened, moment);
  }
}

TEST(Write, AManifestOfAnotherVersionIsRefused) {
  MemoryDisk disk;
  const auto sums = write_all(disk, deal(kMoment, 2));
  auto manifest = kMoment.manifest;
  manifest.version = 501;
  EXPECT_EQ(seal(disk, {"dir", 500, 9, 0, 2}, manifest, sums).error().code, Code::invalid_argument);
  EXPECT_EQ(seal(disk, {"dir", 500, 9, 0, 2}, kMoment.manifest, {1}).error().code, Code::invalid_argument);
}

// A limit on the size of files stands in for a disk that is full.
TEST(Write, ARealDiskSaysWhatItCannotDo) {
  ScratchFolder folder;
  auto& disk = posix_disk();
  const auto file = folder.write("plain", "");
  expect_error(disk.make_folder(file), Code::missing, {file, "cannot be made"});
  expect_error(disk.make_folder(folder.path() + "/no/such"), Code::missing, {"/no/such", "No such file"});
  std::filesystem::create_symlink(file, folder.path() + "/link");
  expect_error(disk.write(folder.path() + "/link", {}), Code::missing, {"/link", "cannot be written"});
  std::array<std::byte, 4> four = {};
  expect_error(disk.read(folder.path() + "/link", 0, four), Code::missing, {"/link", "cannot be read"});
  expect_error(disk.size(folder.path()), Code::missing, {"not a file"});
  expect_error(disk.list(file), Code::missing, {file, "cannot be listed"});
  EXPECT_FALSE(*disk.exists(folder.path() + "/absent"));
  EXPECT_TRUE(disk.remove(folder.path() + "/absent").ok());

  const std::vector<std::byte> large(1 << 20);
  const std::vector<std::span<const std::byte>> parts{large};
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit small = old;
  small.rlim_cur = 1 << 16;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto status = disk.write(file, parts);
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, before);
  expect_error(status, Code::missing, {file, "cannot be written", "File too large"});
  ASSERT_EQ(*disk.size(file), std::uint64_t{1} << 16);
  EXPECT_EQ(*disk.read(file, (1 << 16) - 2, four), 2U);
}

}  // namespace
}  // namespace yoke::checkpoint
