#include "cli/status_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace yoke::cli {
namespace {

wire::Account account() {
  wire::Account account;
  account.strategy = Strategy::sync;
  account.replicas = {{.id = 0, .present = true, .lives = 1}, {.id = 1, .present = true, .lives = 3}};
  return account;
}

bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

TEST(StatusReport, AJobThatGoesWellIsShort) {
  const auto text = as_text(account());
  EXPECT_FALSE(has(text, "degraded")) << text;
  EXPECT_FALSE(has(text, "checkpoint")) << text;
}

TEST(StatusReport, ShowsLivesDegradedUpdatesAndCheckpoints) {
  auto shown = account();
  shown.degraded = 12;
  shown.checkpoint = "runs/checkpoint-000000000500";
  shown.checkpointed = 500;
  shown.checkpoint_problem = "the disk is full";
  const auto text = as_text(shown);
  EXPECT_TRUE(has(text, "degraded: 12 updates were made of fewer gradients")) << text;
  EXPECT_TRUE(has(text, "newest checkpoint: runs/checkpoint-000000000500, version 500\n")) << text;
  EXPECT_TRUE(has(text, "the last checkpoint failed: the disk is full\n")) << text;
  EXPECT_TRUE(has(text, "there, in life 3\n")) << text;
  EXPECT_FALSE(has(text, "in life 1")) << text;

  const auto json = nlohmann::json::parse(as_json(shown));
  EXPECT_EQ(json["degraded"], 12);
  EXPECT_EQ(json["checkpoint"], "runs/checkpoint-000000000500");
  EXPECT_EQ(json["checkpointed"], 500);
  EXPECT_EQ(json["checkpoint_problem"], "the disk is full");
  EXPECT_EQ(json["replicas"][1]["lives"], 3);
}

}  // namespace
}  // namespace yoke::cli
