#include "checkpoint/manifest.h"

#include <gtest/gtest.h>

#include <limits>

#include "checkpoint/model_file_fixture.h"
#include "checkpoint/strict_json.h"

namespace yoke::checkpoint {
namespace {

Manifest sample_manifest() {
  Manifest manifest;
  manifest.version = 500;
  NetworkFacts network;
  network.standing.version = 500;
  network.standing.samples = 60'000;
  network.standing.batch = 64;
  network.standing.samples_decided = 32'000.5;
  network.standing.warmup_end = 17;
  network.standing.ledger = core::LedgerStanding{3, 128, {{2, 64, 128}, {3, 0, 64}}, {{2, 59'000}, {3, 64}}, 2};
  network.layout.groups = {SGD{0.1, 0.9, 1e-4, true},
                           Adagrad{0.2, 1e-3, 1e-5, 0.1, 1e-9},
                           RMSProp{0.3, 0.98, 1e-7, 1e-6, 0.5, true},
                           Adam{0.1 + 0.2, 0.8, 0.99, 1e-300, 1},
                           AdamW{5e-324, 0.7, 0.95, 2, 3},
                           Average{}};
  network.layout.slots = {{"w \"1\"\n", {2, 3}, 0}, {"caf\xc3\xa9", {}, 3, true}, {"mean", {0, 5}, 5, false, true}};
  network.shards = 2;
  network.about = {{"model", "mlp"}, {"", "\x01"}};
  manifest.networks = {network, NetworkFacts{}};
  manifest.job = {Strategy::async, 8, 2, 3, UINT64_MAX, false, 10, 5000, true, 60'000, 64};
  manifest.program = "0.2.0";
  manifest.written_at = 1'700'000'000;
  manifest.command = {"yoke", "train", "--model", "mlp"};
  manifest.seconds_trained = 12.25;
  manifest.parts = {0, UINT64_MAX, 0xab};
  return manifest;
}

TEST(Manifest, ComesBackAsItWas) {
  const auto before = sample_manifest();
  const auto text = to_json(before);
  ASSERT_TRUE(text.ok()) << text.error().message;
  const auto after = parse_manifest(*text);
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(after->version, before.version);
  EXPECT_EQ(after->job, before.job);
  EXPECT_EQ(after->program, before.program);
  EXPECT_EQ(after->written_at, before.written_at);
  EXPECT_EQ(after->command, before.command);
  EXPECT_EQ(after->seconds_trained, before.seconds_trained);
  EXPECT_EQ(after->parts, before.parts);
  ASSERT_EQ(after->networks.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after->networks[i].standing, before.networks[i].standing);
    EXPECT_EQ(after->networks[i].shards, before.networks[i].shards);
    EXPECT_EQ(after->networks[i].about, before.networks[i].about);
    EXPECT_EQ(after->networks[i].layout.groups, before.networks[i].layout.groups);
    ASSERT_EQ(after->networks[i].layout.slots.size(), before.networks[i].layout.slots.size());
    for (std::size_t s = 0; s < before.networks[i].layout.slots.size(); ++s) {
      const auto &a = after->networks[i].layout.slots[s], &b = before.networks[i].layout.slots[s];
      EXPECT_EQ(std::tie(a.name, a.shape, a.group, a.frozen, a.buffer),
                std::tie(b.name, b.shape, b.group, b.frozen, b.buffer));
    }
  }
  EXPECT_EQ(*to_json(*after), *text);
}

TEST(Manifest, WhatCouldNotBeReadAgainIsNotWritten) {
  const auto expect_refused = [](auto change) {
    auto manifest = sample_manifest();
    change(manifest);
    EXPECT_EQ(to_json(manifest).error().code, Code::invalid_argument);
  };
  expect_refused([](Manifest& m) { m.seconds_trained = std::numeric_limits<double>::infinity(); });
  expect_refused([](Manifest& m) { m.networks[0].layout.groups[0] = SGD{std::numeric_limits<double>::quiet_NaN()}; });
  expect_refused([](Manifest& m) { m.networks[0].layout.slots[0].name = "\xff"; });
  expect_refused([](Manifest& m) { m.networks[0].layout.slots[0].shape = {-1}; });
  expect_refused([](Manifest& m) { m.networks[0].layout.slots[0].shape = {1 << 30, 1 << 30}; });
  expect_refused([](Manifest& m) { m.networks[0].layout.slots[0].group = 6; });
  expect_refused([](Manifest& m) { m.networks[0].layout.slots[1].name = m.networks[0].layout.slots[0].name; });
  expect_refused([](Manifest& m) { m.command = {"\xff"}; });
}

// The sum does not make it true: whoever writes a file can make one that fits.
class HostileManifest : public testing::Test {
 protected:
  static nlohmann::ordered_json good() {
    auto json = nlohmann::ordered_json::parse(*to_json(sample_manifest()));
    json.erase("sum");
    return json;
  }
  static void expect_refused(const std::string& place, const nlohmann::ordered_json& value, const std::string& words) {
    auto json = good();
    json[nlohmann::ordered_json::json_pointer(place)] = value;
    expect_error(parse_manifest(with_sum(json)), Code::corrupt, {words});
  }
};

TEST_F(HostileManifest, WrongTypesAndRangesAreNamed) {
  ASSERT_TRUE(parse_manifest(with_sum(good())).ok());
  const nlohmann::ordered_json others[] = {
      nullptr, true, "x", -1, 1.5, nlohmann::ordered_json::array(), nlohmann::ordered_json::object()};
  for (const auto* place : {"/version", "/job/replicas", "/networks/0/standing/ledger/cursor", "/networks/0/shards",
                            "/networks/0/slots/0/group", "/networks/0/slots/0/shape/0"})
    for (const auto& other : others)
      expect_refused(place, other,
                     std::string(place).substr(std::string(place).rfind("shape") == std::string::npos
                                                   ? std::string(place).rfind('/') + 1
                                                   : std::string(place).rfind("shape"),
                                               5));
  for (const auto* place : {"/networks", "/networks/0/slots", "/networks/0/groups", "/parts", "/command"}) {
    expect_refused(place, nullptr, "is no list");
    expect_refused(place, 5, "is no list");
    expect_refused(std::string(place) + "/0", 5, std::string(place).substr(std::string(place).rfind('/') + 1) + "[0]");
  }
  expect_refused("/job", 5, "job is no object");
  expect_refused("/networks/0/about", 5, "about is no object");
  expect_refused("/networks/0/about/model", 5, "about is no text");
  expect_refused("/job/shuffle", 1, "job.shuffle is neither");
  expect_refused("/job/strategy", "federated", "job.strategy");
  expect_refused("/networks/0/groups/0/kind", "lion", "groups[0].kind");
  expect_refused("/networks/0/groups/0/lr", "x", "groups[0].lr is no finite number");
  expect_refused("/networks/0/groups/0/beta1", 1, "groups[0] has fields that have no place there");
  expect_refused("/stranger", 1, "fields that have no place");
  expect_refused("/format", 2, "format is not 1: take a newer Yoke");
  expect_refused("/job/replicas", 5000, "job.replicas is no whole number up to 4096");
  expect_refused("/networks/0/standing/ledger/cursor", 60'001, "cursor is no whole number up to 60000");
  expect_refused("/networks/0/standing/ledger/returned/0/end", 60'001, "returned[0].end");
  expect_refused("/networks/0/standing/ledger/returned/0/begin", 129, "returned[0].begin");
  expect_refused("/networks/0/slots/0/shape", {1LL << 39, 4}, "more elements");
  expect_refused("/networks/0/slots/0/shape", std::vector<int>(65, 1), "shape is no list of up to 64");
  expect_refused("/parts/0", "00000000000000AB", "16 hexadecimal digits");
  expect_refused("/parts/0", "ab", "16 hexadecimal digits");
  expect_refused("/parts", std::vector<std::string>(4097, "00000000000000ab"), "parts is no list of up to 4096");
}

TEST_F(HostileManifest, EveryFieldMustBeThere) {
  for (const auto* place : {"/format", "/version", "/job", "/job/seed", "/networks", "/networks/0/standing",
                            "/networks/0/standing/ledger/counted", "/networks/0/slots/0/frozen", "/parts"}) {
    auto json = good();
    const nlohmann::ordered_json::json_pointer at{std::string(place)};
    auto& above = json[at.parent_pointer()];
    above.erase(at.back());
    expect_error(parse_manifest(with_sum(json)), Code::corrupt, {at.back() + " is missing"});
  }
}

// By hand, as no writer of JSON would make it.
TEST_F(HostileManifest, WhatIsNoSuchJsonIsRefused) {
  const auto summed = [](std::string text) {
    text += "\"sum\":\"" + in_hex(sum_of(text)) + "\"}\n";
    return text;
  };
  expect_error(parse_manifest(summed("{\"a\":" + std::string(1'000'000, '[') + "1,")), Code::corrupt, {"nests deeper"});
  expect_error(parse_manifest(summed("{\"a\":1,\"a\":1,")), Code::corrupt, {"'a' is there twice"});
  expect_error(parse_manifest(summed("{\"sum\":1,")), Code::corrupt, {"'sum' is there twice"});
  expect_error(parse_manifest(summed("{\"a\":1e999,")), Code::corrupt, {"not JSON"});
  expect_error(parse_manifest(summed("{\"version\":99999999999999999999999,")), Code::corrupt, {"format is missing"});
  expect_error(parse_manifest(summed("{\"a\":\"\xff\",")), Code::corrupt, {"not JSON"});
  expect_error(parse_manifest(summed(std::string("{\"a\":1,\0", 8))), Code::corrupt, {"zero bytes"});
  expect_error(parse_manifest(summed("[{")), Code::corrupt, {"not JSON"});
  expect_error(parse_manifest(summed("{")), Code::corrupt, {"format is missing"});
  expect_error(parse_manifest(""), Code::corrupt, {"cut off"});
  expect_error(parse_manifest("\"sum\":\"0123456789abcdef\"}\n"), Code::corrupt, {"the sum that was written"});
}

}  // namespace
}  // namespace yoke::checkpoint
