#include "cluster/pace.h"

#include <gtest/gtest.h>

#include <thread>

namespace yoke::cluster {
namespace {

TEST(Pace, who_rests_is_woken_to_hurry_and_rests_no_more) {
  Pace pace(1e9, std::chrono::hours(1));
  std::jthread works([&] {
    pace.rest();
    pace.rest();
  });
  pace.hurry();
}

TEST(Pace, rests_no_longer_than_it_may) {
  Pace pace(1e9, std::chrono::milliseconds(1));
  for (int i = 0; i < 3; ++i) pace.rest();
}

}  // namespace
}  // namespace yoke::cluster
