#include "cli/inspect_checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/scratch_folder.h"
#include "checkpoint/checkpoint_fixture.h"

namespace yoke::cli {
namespace {

using namespace checkpoint;

class InspectCheckpoint : public testing::Test {
 protected:
  InspectCheckpoint() {
    for (const wire::Version version : {100, 200}) {
      auto moment = moment_of({small_layout()}, version, version);
      auto& standing = moment.manifest.networks[0].standing;
      standing.samples = 1000;
      standing.ledger = core::LedgerStanding{3, 128, {{2, 64, 128}, {3, 0, 64}}, {{2, 900}, {3, 0}}, 2};
      moment.manifest.written_at = 1'700'000'000;
      EXPECT_TRUE(save(posix_disk(), folder_.path(), moment, deal(moment, 2), version).ok());
    }
  }
  std::string text(const std::string& folder) {
    const auto inspection = inspect_checkpoints(folder, false);
    return inspection ? as_text(*inspection) : inspection.error().message;
  }
  static void expect_words(const std::string& text, std::initializer_list<std::string> words) {
    for (const auto& word : words) EXPECT_NE(text.find(word), std::string::npos) << word << " in:\n" << text;
  }

  ScratchFolder folder_;
  const std::string first_ = sealed_path(folder_.path(), 100), second_ = sealed_path(folder_.path(), 200);
};

TEST_F(InspectCheckpoint, ShowsAllThatAreThereAndTheNewestWhole) {
  expect_words(text(folder_.path()),
               {first_ + ": version 100, whole\n", second_ + ": version 200, whole\n", second_ + ":\n",
                "written: 2023-11-14 22:13:20 UTC by Yoke test", "command: yoke train --seed 200",
                "job: sync, 1 replica, 1 server, batch 1, seed 1, shuffled, 1 epoch",
                "step 200, epoch 3 at sample 128 of 1000, 2 whole epochs counted, 2 ranges (128 samples) to be handed "
                "out again; 1 shard",
                "optimizer: adam lr 0.001 weight_decay 0.0 beta1 0.9 beta2 0.999 eps 1e-08", "model: test",
                "manifest.json                   ok", "part-1-of-2.state.safetensors   ok",
                "conv1.weight  F32   [4, 3, 3, 3]       108    432", "6 tensors, 247 elements, 988 bytes"});
  expect_words(text(first_), {first_ + ": version 100, whole\n", "step 100"});
}

TEST_F(InspectCheckpoint, NamesWhatIsDamaged) {
  std::filesystem::resize_file(second_ + "/part-1-of-2.values.safetensors", 10);
  expect_words(text(folder_.path()),
               {"DAMAGED: " + second_ + "/part-1-of-2.values.safetensors: it has 10 bytes", first_ + ":\n"});
  expect_words(text(second_),
               {"part-1-of-2.values.safetensors  DAMAGED     10\n", "part-1-of-2.state.safetensors   ok", "step 200"});
  EXPECT_FALSE(inspect_checkpoints(second_, false)->newest());
  std::filesystem::resize_file(second_ + "/manifest.json", 10);
  expect_words(text(second_), {"manifest.json  DAMAGED     10\n"});
  std::filesystem::remove(second_ + "/manifest.json");
  expect_words(text(second_), {second_, "no checkpoint"});
  expect_words(text(folder_.path() + "/absent"), {"absent"});
}

TEST_F(InspectCheckpoint, SaysTheSameAsJson) {
  std::filesystem::resize_file(second_ + "/part-1-of-2.values.safetensors", 10);
  const auto json = nlohmann::json::parse(as_json(*inspect_checkpoints(folder_.path(), true)));
  EXPECT_EQ(json["newest"], first_);
  ASSERT_EQ(json["checkpoints"].size(), 2U);
  EXPECT_EQ(json["checkpoints"][0]["whole"], false);
  EXPECT_EQ(json["checkpoints"][0]["files"].size(), 7U);
  EXPECT_EQ(json["checkpoints"][1]["whole"], true);
  EXPECT_EQ(json["checkpoints"][1]["manifest"]["version"], 100);
  EXPECT_EQ(json["checkpoints"][1]["files"][0]["ok"], true);
  ASSERT_EQ(json["networks"].size(), 1U);
  EXPECT_EQ(json["networks"][0]["total"]["elements"], 247);
  EXPECT_TRUE(json["networks"][0]["tensors"][0]["stats"]["min"].is_number());
}

}  // namespace
}  // namespace yoke::cli
