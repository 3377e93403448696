#include "report/report.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "report/chrome_trace.h"

namespace yoke::report {
namespace {

using nlohmann::json;

Fitted fitted() {
  Fitted fitted;
  fitted.summary.steps = 30;
  fitted.summary.samples = 900;
  fitted.summary.seconds = 3;
  fitted.summary.applied = 30;
  fitted.summary.staleness = {10, 0, 20};
  fitted.summary.replicas.resize(2);
  fitted.summary.replicas[1] = {.applied = 12, .dropped = 3, .mean_step_seconds = 0.25, .lost = "it was \"unplugged\""};
  fitted.validation = {.loss = 0.5, .accuracy = 0.75, .samples = 4};
  fitted.final_loss = std::numeric_limits<double>::quiet_NaN();
  fitted.curve = {{1.5, 10, 300, 0.6, 0.7, 0.8}, {3, 30, 900, 0.5, std::nullopt, 0.6}};
  return fitted;
}

TEST(Report, is_json_with_what_was_measured) {
  const auto report = json::parse(to_json({.model = "cnn", .environment = {.version = "1.2.3", .cores = 2}}, fitted()));
  EXPECT_EQ(report["strategy"], "sync");
  EXPECT_EQ(report["samples_per_second"], 300);
  EXPECT_EQ(report["staleness"]["mean"], 40.0 / 30);
  EXPECT_EQ(report["staleness"]["max"], 2);
  EXPECT_EQ(report["replica"][1]["mean_step_ms"], 250);
  EXPECT_EQ(report["replica"][1]["lost"], "it was \"unplugged\"");
  EXPECT_EQ(report["curve"][0]["step"], 10);
  EXPECT_EQ(report["environment"]["version"], "1.2.3");
}

TEST(Report, what_does_not_exist_is_null) {
  const auto report = json::parse(to_json({}, fitted()));
  EXPECT_TRUE(report["final_loss"].is_null());
  EXPECT_TRUE(report["test"].is_null());
  EXPECT_TRUE(report["test_accuracy"].is_null());
  EXPECT_TRUE(report["curve"][1]["accuracy"].is_null());
}

TEST(Report, folds_have_a_mean_and_a_deviation) {
  std::vector<Fitted> folds(3, fitted());
  folds[0].validation.accuracy = 0.7;
  folds[2].validation.accuracy = 0.8;
  const auto report = json::parse(to_json({}, folds));
  EXPECT_NEAR(report["validation_accuracy"]["mean"].get<double>(), 0.75, 1e-12);
  EXPECT_NEAR(report["validation_accuracy"]["deviation"].get<double>(), 0.05, 1e-9);
  EXPECT_EQ(report["fold"].size(), 3u);
}

TEST(ChromeTrace, has_a_row_a_replica_and_times_in_microseconds) {
  using What = history::Span::What;
  const auto trace = json::parse(chrome_trace(
      {{1, What::compute, std::chrono::milliseconds(2), std::chrono::milliseconds(5), 7}}, 2))["traceEvents"];
  const auto span = std::find_if(trace.begin(), trace.end(), [](const auto& event) { return event["ph"] == "X"; });
  ASSERT_NE(span, trace.end());
  EXPECT_EQ((*span)["name"], "compute");
  EXPECT_EQ((*span)["tid"], 1);
  EXPECT_EQ((*span)["ts"], 2000);
  EXPECT_EQ((*span)["dur"], 3000);
  EXPECT_EQ((*span)["args"]["step"], 7);
}

}  // namespace
}  // namespace yoke::report
