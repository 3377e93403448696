#include "checkpoint/part_list.h"

#include <gtest/gtest.h>

#include "checkpoint/model_file_fixture.h"
#include "checkpoint/strict_json.h"

namespace yoke::checkpoint {
namespace {

PartList sample_list() {
  PartList list{500, 1, 2, {}, {{0, "w", 0, 500}, {1, "w", 3, 0}}};
  list.files = {
      {Kind::values, 1000, 0xab, {{{0, "w"}, "w[5:10]", 5, 10, 1}, {{1, "w"}, "network1.w", 0, 10, 2}}},
      {Kind::state, 2000, UINT64_MAX, {{{1, "w", Kind::state, 3, 1}, "network1.w.state1.replica3", 0, 10, 3}}}};
  return list;
}

TEST(PartList, ComesBackAsItWas) {
  const auto before = sample_list();
  const auto text = to_json(before);
  ASSERT_TRUE(text.ok()) << text.error().message;
  const auto after = parse_part_list(*text);
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(std::tie(after->version, after->shard, after->shards, after->counts),
            std::tie(before.version, before.shard, before.shards, before.counts));
  ASSERT_EQ(after->files.size(), 2U);
  for (std::size_t f = 0; f < 2; ++f) {
    const auto &a = after->files[f], &b = before.files[f];
    EXPECT_EQ(std::tie(a.kind, a.bytes, a.sum), std::tie(b.kind, b.bytes, b.sum));
    ASSERT_EQ(a.tensors.size(), b.tensors.size());
    for (std::size_t t = 0; t < a.tensors.size(); ++t)
      EXPECT_EQ(std::tie(a.tensors[t].of, a.tensors[t].name, a.tensors[t].begin, a.tensors[t].end, a.tensors[t].sum),
                std::tie(b.tensors[t].of, b.tensors[t].name, b.tensors[t].begin, b.tensors[t].end, b.tensors[t].sum));
  }
}

TEST(PartList, WhatHasNoPlaceInOneIsRefused) {
  const auto expect_refused = [](const std::string& place, const nlohmann::ordered_json& value,
                                 const std::string& words) {
    auto json = nlohmann::ordered_json::parse(*to_json(sample_list()));
    json.erase("sum");
    json[nlohmann::ordered_json::json_pointer(place)] = value;
    expect_error(parse_part_list(with_sum(json)), Code::corrupt, {words});
  };
  expect_refused("/format", 9, "format");
  expect_refused("/shard", 2, "shard is none of the shards");
  expect_refused("/shards", 5000, "shards is no whole number");
  // Nothing outside the folder, nothing of another part.
  for (const auto* name : {"../../etc/passwd", "/etc/passwd", "part-0-of-2.values.safetensors", "manifest.json", ""})
    expect_refused("/files/0/name", name, "files[0].name is no file of this part");
  expect_refused("/files/1/name", "part-1-of-2.values.safetensors", "files[1].name is there twice");
  expect_refused("/files/0/bytes", -1, "files[0].bytes");
  expect_refused("/files/0/sum", 5, "files[0].sum");
  expect_refused("/files/0/tensors/0/begin", 11, "tensors[0].begin");
  expect_refused("/files/0/tensors/0/end", UINT64_MAX, "tensors[0].end");
  expect_refused("/files/0/tensors/0/memory", 1, "tensors[0] has fields");
  expect_refused("/files/1/tensors/0/memory", -1, "tensors[0].memory");
  expect_refused("/files/0/tensors/0/slot", std::string(5000, 'x'), "tensors[0].slot");
  expect_refused("/updates/0/updates", 1.5, "updates[0].updates");
}

}  // namespace
}  // namespace yoke::checkpoint
