#include "core/quorum.h"

#include <gtest/gtest.h>

namespace yoke::core {
namespace {

struct QuorumRow {
  QuorumInput input;  // wanted, whole, working, alive
  bool ready;
  std::uint32_t needed;
  bool degraded;
};

TEST(QuorumTest, Table) {
  const QuorumRow rows[] = {
      {{4, 3, 2, 5}, false, 4, false},                                  // one more is needed
      {{4, 4, 1, 5}, true, 4, false},                                   // the slowest is spare
      {{4, 5, 0, 5}, true, 4, false},                                   // never more than wanted
      {{4, 2, 0, 5}, true, 2, false},                                   // the last ranges of the epoch
      {{4, 1, 1, 5}, false, 2, false}, {{4, 3, 0, 3}, true, 3, true},   // replicas are gone
      {{4, 2, 1, 3}, false, 3, true},  {{4, 4, 0, 3}, true, 4, false},  // one died after delivering
      {{4, 0, 0, 4}, false, 0, false}, {{1, 1, 0, 1}, true, 1, false},
  };
  for (const auto& row : rows) {
    const auto decision = judge_quorum(row.input);
    EXPECT_EQ(decision.ready, row.ready) << "row " << &row - rows;
    EXPECT_EQ(decision.needed, row.needed) << "row " << &row - rows;
    EXPECT_EQ(decision.degraded, row.degraded) << "row " << &row - rows;
  }
}

TEST(QuorumTest, SaysWhy) {
  EXPECT_EQ(judge_quorum({4, 4, 1, 5}).reason, "4 of 4 gradients");
  EXPECT_EQ(judge_quorum({4, 3, 0, 3}).reason, "3 of 3 gradients, degraded: replicas are gone");
  EXPECT_EQ(judge_quorum({4, 2, 0, 5}).reason, "2 of 2 gradients, the last ranges of the epoch");
}

}  // namespace
}  // namespace yoke::core
