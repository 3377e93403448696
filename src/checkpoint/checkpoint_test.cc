#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include "base/scratch_folder.h"
#include "checkpoint/checkpoint_fixture.h"
#include "checkpoint/memory_disk.h"
#include "checkpoint/model_file.h"
#include "core/block_plan.h"

namespace yoke::checkpoint {
namespace {

// Cut as the servers cut, and frozen slots on the first.
std::vector<Part> parts_by_plan(const Moment& moment, std::uint32_t shards) {
  std::vector<Part> parts(shards);
  for (auto& part : parts) part.counts = moment.counts;
  for (std::uint32_t network = 0; network < moment.manifest.networks.size(); ++network) {
    const auto& layout = moment.manifest.networks[network].layout;
    const auto plan = core::plan_blocks(layout, shards);
    for (const auto& [name, values] : moment.arrays) {
      if (name.network != network) continue;
      const std::span<const float> all(values);
      if (moment.slot(name).frozen) parts[0].pieces.push_back({name, moment.slot(name).shape, 0, all});
      for (const auto& block : plan.blocks)
        if (layout.slots[block.slot].name == name.slot)
          parts[block.shard].pieces.push_back(
              {name, moment.slot(name).shape, block.offset, all.subspan(block.offset, block.size)});
    }
  }
  return parts;
}

// Two networks; the first has blocks for eight servers.
Moment large_moment() {
  auto large = small_layout();
  large.slots.push_back({"big.weight", {500, 301}});
  return moment_of({large, small_layout()}, 500, 7, {0, 3, 5});
}

TEST(Checkpoint, AnyNumberOfShardsReadsWhatAnyOtherWrote) {
  const auto moment = large_moment();
  for (std::uint32_t wrote = 1; wrote <= 8; ++wrote) {
    MemoryDisk disk;
    ASSERT_TRUE(save(disk, "dir", moment, parts_by_plan(moment, wrote)).ok());
    const auto opened = Checkpoint::open(disk, sealed_path("dir", 500));
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    expect_equal(**opened, moment);
    for (std::uint32_t reads = 1; reads <= 8; ++reads) {
      for (const auto& part : parts_by_plan(moment, reads)) {
        for (const auto& piece : part.pieces) {
          std::vector<float> read(piece.values.size());
          ASSERT_TRUE((*opened)->read(piece.of, piece.offset, read).ok());
          ASSERT_TRUE(std::equal(read.begin(), read.end(), piece.values.begin())) << wrote << " to " << reads;
        }
      }
    }
  }
}

TEST(Checkpoint, SaysWhoseStateThereIs) {
  const auto moment = large_moment();
  MemoryDisk disk;
  ASSERT_TRUE(save(disk, "dir", moment, deal(moment, 3)).ok());
  const auto opened = Checkpoint::open(disk, sealed_path("dir", 500));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ((*opened)->memories(0), (std::vector<wire::ReplicaId>{0, 3}));
  EXPECT_EQ((*opened)->updates(0, "fc.weight", 3, 0, 1), 503U);
  EXPECT_EQ((*opened)->updates(0, "fc.weight", 5, 0, 1), 0U);
  EXPECT_EQ((*opened)->updates(0, "fc.weight", 9, 0, 1), 0U);
  EXPECT_EQ((*opened)->arrays(0, "table", 0), 0U);
}

// What was lost with a server may have an older state than the rest.
TEST(Checkpoint, PartsMayDifferInWhatTheirStatesHaveSeen) {
  const auto moment = moment_of({small_layout()}, 500, 3);
  auto parts = deal(moment, 2, 10);
  for (auto& count : parts[1].counts) count.updates = 77;
  MemoryDisk disk;
  ASSERT_TRUE(save(disk, "dir", moment, parts).ok());
  const auto opened = Checkpoint::open(disk, sealed_path("dir", 500));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const auto updates = [&](std::uint64_t begin, std::uint64_t end) {
    return (*opened)->updates(0, "fc.weight", 0, begin, end);
  };
  int seen = 0;
  for (const auto& part : parts)
    for (const auto& piece : part.pieces) {
      if (piece.of.slot != "fc.weight" || piece.of.kind != Kind::state || piece.of.array != 0) continue;
      const auto count = &part == &parts[0] ? part.counts.front().updates : 77;
      EXPECT_EQ(updates(piece.offset, piece.offset + piece.values.size()), count);
      ++seen;
    }
  EXPECT_EQ(seen, 12);
  EXPECT_EQ(updates(0, 120), 77U) << "all of it has seen so many at least";
}

TEST(Checkpoint, GivesAllValuesAsAModelState) {
  const auto moment = moment_of({small_layout()}, 500, 7);
  MemoryDisk disk;
  ASSERT_TRUE(save(disk, "dir", moment, deal(moment, 3)).ok());
  const auto opened = Checkpoint::open(disk, sealed_path("dir", 500));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const auto state = (*opened)->model_state(0);
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_EQ(state->about.at("model"), "test");
  ASSERT_EQ(state->tensors.size(), 6U);
  for (const auto& tensor : state->tensors) {
    EXPECT_EQ(tensor.shape, moment.slot({0, tensor.name}).shape);
    EXPECT_EQ(*floats_of(tensor), moment.arrays.at({0, tensor.name}));
  }
  EXPECT_FALSE((*opened)->model_state(1).ok());
}

TEST(Checkpoint, RefusesToReadWhatIsNotThere) {
  const auto moment = moment_of({small_layout()}, 500, 7);
  MemoryDisk disk;
  ASSERT_TRUE(save(disk, "dir", moment, deal(moment, 1)).ok());
  const auto opened = Checkpoint::open(disk, sealed_path("dir", 500));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  std::vector<float> out(5);
  EXPECT_TRUE((*opened)->read({0, "fc.weight"}, 115, out).ok());
  for (const auto& [name, offset] :
       std::vector<std::pair<ArrayName, std::uint64_t>>{{{0, "fc.weight"}, 116},
                                                        {{0, "fc.weight"}, UINT64_MAX},
                                                        {{0, "absent"}, 0},
                                                        {{1, "fc.weight"}, 0},
                                                        {{0, "fc.weight", Kind::state, 1}, 0},
                                                        {{0, "fc.weight", Kind::state, 0, 2}, 0}})
    EXPECT_EQ((*opened)->read(name, offset, out).error().code, Code::invalid_argument) << name.slot;
}

// The same bytes on a real disk.
TEST(Checkpoint, LiesInFilesThatOtherToolsRead) {
  ScratchFolder folder;
  const auto moment = moment_of({small_layout()}, 500, 7);
  ASSERT_TRUE(save(posix_disk(), folder.path() + "/not/yet", moment, deal(moment, 2, 1000)).ok());
  const auto opened = Checkpoint::open(posix_disk(), folder.path() + "/not/yet/checkpoint-000000000500");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  expect_equal(**opened, moment);
  std::size_t seen = 0;
  for (const auto* name : {"part-0-of-2.values.safetensors", "part-1-of-2.values.safetensors"}) {
    const auto state = read_model((*opened)->folder() + "/" + name);
    ASSERT_TRUE(state.ok()) << state.error().message;
    for (const auto& tensor : state->tensors) {
      EXPECT_EQ(*floats_of(tensor), moment.arrays.at({0, tensor.name}));
      ++seen;
    }
  }
  EXPECT_EQ(seen, 5U);  // one slot has no elements
}

}  // namespace
}  // namespace yoke::checkpoint
