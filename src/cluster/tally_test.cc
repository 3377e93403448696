#include "cluster/tally.h"

#include <gtest/gtest.h>

namespace yoke::cluster {
namespace {

wire::Record applied(std::uint32_t epoch, std::uint64_t begin, std::uint64_t end) {
  wire::Record record;
  record.applied.push_back(
      {.samples = static_cast<std::uint32_t>(end - begin), .range = wire::Range{epoch, begin, end}});
  return record;
}

TEST(Tally, every_sample_once_an_epoch) {
  Tally tally(1);
  tally.expect(10);
  tally.add(applied(0, 4, 10));
  EXPECT_EQ(tally.most_counted(), 0u);  // the epoch is not over
  tally.add(applied(0, 0, 4));
  tally.add(applied(1, 0, 3));  // neither is this one
  EXPECT_EQ(tally.least_counted(), 1u);
  EXPECT_EQ(tally.most_counted(), 1u);
  EXPECT_EQ(tally.samples(), 13u);
}

TEST(Tally, a_sample_that_counted_twice_shows_and_so_does_the_one_that_did_not) {
  Tally tally(1);
  tally.expect(10);
  tally.add(applied(0, 0, 6));
  tally.add(applied(0, 4, 8));  // 4 and 5 again, 8 and 9 never
  EXPECT_EQ(tally.least_counted(), 0u);
  EXPECT_EQ(tally.most_counted(), 2u);
}

TEST(Tally, data_without_a_size_is_not_counted_by_sample) {
  Tally tally(1);
  tally.expect(0);
  wire::Record record;
  record.applied.push_back({.samples = 5});
  tally.add(record);
  EXPECT_EQ(tally.samples(), 5u);
  EXPECT_EQ(tally.most_counted(), 0u);
}

}  // namespace
}  // namespace yoke::cluster
