#include "core/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/hash.h"

namespace yoke::core {
namespace {

using wire::Range;

TEST(LedgerTest, HandsOutAnEpochInRanges) {
  Ledger ledger({.samples = 5, .batch = 2});
  EXPECT_EQ(ledger.take(), (Range{0, 0, 2}));
  EXPECT_EQ(ledger.take(), (Range{0, 2, 4}));
  EXPECT_EQ(ledger.take(), (Range{0, 4, 5}));
  EXPECT_EQ(ledger.take(), std::nullopt);
  EXPECT_EQ(ledger.take(), std::nullopt);
  EXPECT_FALSE(ledger.exhausted());
}

TEST(LedgerTest, ADroppedRangeIsHandedOutFirstARefusedOneAfterIt) {
  Ledger ledger({.samples = 8, .batch = 2});
  const auto refused = *ledger.take(), dropped = *ledger.take();
  ledger.put_last(refused);
  ledger.put_back(dropped);
  EXPECT_EQ(ledger.take(), dropped);
  EXPECT_EQ(ledger.take(), refused);
  EXPECT_EQ(ledger.take(), (Range{0, 4, 6}));
}

TEST(LedgerTest, AStrictEpochWaitsForTheOneBefore) {
  for (const bool strict : {true, false}) {
    Ledger ledger({.samples = 2, .batch = 2, .epochs = 2, .strict = strict});
    const auto first = *ledger.take();
    const auto early = ledger.take();
    EXPECT_EQ(early.has_value(), !strict);
    ledger.count(first);
    EXPECT_EQ(ledger.epochs_counted(), 1u);
    const auto second = early ? early : ledger.take();
    EXPECT_EQ(second, (Range{1, 0, 2}));
    ledger.count(*second);
    EXPECT_TRUE(ledger.exhausted());
    EXPECT_EQ(ledger.take(), std::nullopt);
  }
}

TEST(LedgerTest, LaterEpochsMayCountFirst) {
  Ledger ledger({.samples = 2, .batch = 2, .epochs = 2, .strict = false});
  const auto first = *ledger.take(), second = *ledger.take();
  ledger.count(second);
  EXPECT_EQ(ledger.epochs_counted(), 0u);
  ledger.count(first);
  EXPECT_EQ(ledger.epochs_counted(), 2u);
}

TEST(LedgerTest, TheBatchChangesWithTheEpoch) {
  Ledger ledger({.samples = 6, .batch = 2, .batch_schedule = {{2, 6}, {1, 3}}, .epochs = 3, .strict = false});
  std::vector<std::uint64_t> sizes;
  while (const auto range = ledger.take()) sizes.push_back(range->size());
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{2, 2, 2, 3, 3, 6}));
}

TEST(LedgerTest, GoesOnFromWhereAnotherStood) {
  const LedgerOptions options{.samples = 10, .batch = 2, .epochs = 2};
  Ledger ledger(options);
  const auto counted = *ledger.take(), refused = *ledger.take(), outstanding = *ledger.take();
  ledger.count(counted);
  ledger.put_last(refused);
  const auto standing = ledger.standing({outstanding, {0, 6, 6}});
  EXPECT_EQ(standing, (LedgerStanding{0, 6, {outstanding, refused}, {{0, 2}}, 0}));
  Ledger next(options, standing);
  EXPECT_EQ(next.standing({}), standing);
  EXPECT_EQ(next.take(), outstanding);
  EXPECT_EQ(next.take(), refused);
  EXPECT_EQ(next.take(), (Range{0, 6, 8}));
}

TEST(LedgerTest, AnotherBatchAndOtherEpochsGoOnToo) {
  Ledger larger({.samples = 10, .batch = 5}, {0, 6, {{0, 2, 4}}, {{0, 4}}, 0});
  EXPECT_EQ(larger.take(), (Range{0, 2, 4}));
  EXPECT_EQ(larger.take(), (Range{0, 6, 10}));
  Ledger smaller({.samples = 10, .batch = 1}, {0, 6, {{0, 2, 4}}, {{0, 4}}, 0});
  EXPECT_EQ(smaller.take(), (Range{0, 2, 3}));
  EXPECT_EQ(smaller.take(), (Range{0, 3, 4}));
  const LedgerStanding over{1, 10, {}, {}, 2};
  EXPECT_TRUE(Ledger({.samples = 10, .epochs = 1}, over).exhausted());
  Ledger longer({.samples = 10, .batch = 10, .epochs = 3}, over);
  EXPECT_EQ(longer.take(), (Range{2, 0, 10}));
}

// Against the obvious model: a count for each sample of each epoch, and who holds it.
TEST(LedgerTest, EverySampleIsInOnePlaceAlways) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::uint64_t draws = 0;
    const auto below = [&](std::uint64_t limit) { return mix(seed, draws++) % limit; };
    const LedgerOptions options{.samples = 1 + below(30),
                                .batch = static_cast<std::uint32_t>(1 + below(7)),
                                .epochs = static_cast<std::uint32_t>(1 + below(3)),
                                .strict = below(2) == 0};
    Ledger ledger(options);
    std::vector<std::vector<int>> held(options.epochs, std::vector<int>(options.samples)), counted = held;
    std::vector<Range> out;
    for (int deed = 0; deed < 2000 && !ledger.exhausted(); ++deed) {
      if (below(50) == 0) {  // the job dies and goes on: what was out is handed out again
        ledger = Ledger(options, ledger.standing(out));
        out.clear();
        for (auto& epoch : held) std::fill(epoch.begin(), epoch.end(), 0);
      }
      if (below(2) == 0) {
        const auto range = ledger.take();
        if (!range) {
          ASSERT_FALSE(out.empty()) << "seed " << seed << ": nothing to take, and nothing is out";
          continue;
        }
        ASSERT_LE(range->size(), options.batch);
        ASSERT_TRUE(!options.strict || range->epoch <= ledger.epochs_counted());
        for (auto i = range->begin; i < range->end; ++i) {
          ASSERT_EQ(held[range->epoch][i]++, 0);
          ASSERT_EQ(counted[range->epoch][i], 0);
        }
        out.push_back(*range);
      } else if (!out.empty()) {
        const auto at = out.begin() + static_cast<std::ptrdiff_t>(below(out.size()));
        const auto range = *at;
        out.erase(at);
        const auto fate = below(3);
        for (auto i = range.begin; i < range.end; ++i) {
          --held[range.epoch][i];
          counted[range.epoch][i] += fate == 0;
        }
        fate == 0 ? ledger.count(range) : fate == 1 ? ledger.put_back(range) : ledger.put_last(range);
      }
      std::uint32_t whole = 0;
      while (whole < options.epochs &&
             std::find(counted[whole].begin(), counted[whole].end(), 0) == counted[whole].end())
        ++whole;
      ASSERT_EQ(ledger.epochs_counted(), whole);
    }
    EXPECT_TRUE(ledger.exhausted()) << "seed " << seed;
    EXPECT_TRUE(out.empty());
  }
}

}  // namespace
}  // namespace yoke::core
