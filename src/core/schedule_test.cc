#include "core/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace yoke::core {
namespace {

using Kind = ScheduleOptions::Kind;

struct ScheduleRow {
  ScheduleOptions options;
  Progress progress;  // samples, an epoch, in all, an update
  double rate;
};

TEST(ScheduleTest, KnownValues) {
  const ScheduleOptions step{.kind = Kind::step, .step_epochs = 2, .step_gamma = 0.1};
  const ScheduleOptions cosine{.kind = Kind::cosine};
  const ScheduleOptions floored{.kind = Kind::cosine, .floor = 0.2};
  const ScheduleOptions warm{.warmup_epochs = 2};
  const ScheduleOptions scaled{.reference_batch = 32};
  const ScheduleRow rows[] = {
      {{}, {0, 100, 1000, 10}, 1},          {{}, {1000, 100, 1000, 10}, 1},
      {step, {0, 100, 1000, 10}, 1},        {step, {199, 100, 1000, 10}, 1},
      {step, {200, 100, 1000, 10}, 0.1},    {step, {400, 100, 1000, 10}, 0.01},
      {step, {400, 0, 1000, 10}, 1},  // no epochs without a size
      {cosine, {0, 100, 1000, 10}, 1},      {cosine, {250, 100, 1000, 10}, 0.5 * (1 + std::sqrt(0.5))},
      {cosine, {500, 100, 1000, 10}, 0.5},  {cosine, {1000, 100, 1000, 10}, 0},
      {cosine, {2000, 100, 1000, 10}, 0},  // past the end it stays there
      {floored, {500, 100, 1000, 10}, 0.6}, {floored, {1000, 100, 1000, 10}, 0.2},
      {warm, {0, 100, 1000, 10}, 0.05},  // the first update already moves
      {warm, {90, 100, 1000, 10}, 0.5},     {warm, {190, 100, 1000, 10}, 1},
      {warm, {500, 100, 1000, 10}, 1},      {scaled, {0, 100, 1000, 64}, 2},
      {scaled, {0, 100, 1000, 16}, 0.5},
  };
  for (const auto& row : rows)
    EXPECT_NEAR(rate_at(row.options, row.progress), row.rate, 1e-12) << "row " << &row - rows;
}

}  // namespace
}  // namespace yoke::core
