#include "base/call.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

namespace yoke {
namespace {

TEST(Call, CallsWhatItWasGivenAsOftenAsItIsAskedTo) {
  int times = 0;
  Call call = [&times] { ++times; };
  call();
  call();
  EXPECT_EQ(times, 2);
  EXPECT_TRUE(call);
  EXPECT_FALSE(Call());
}

// Small captures lie in the call, large ones elsewhere: either goes along, once, and is let go of once.
template <std::size_t bytes>
void moves_and_lets_go() {
  auto owned = std::make_shared<int>(0);
  std::array<std::byte, bytes> much{};
  {
    Call first = [owned, much] { *owned += 1 + static_cast<int>(much[0]); };
    EXPECT_EQ(owned.use_count(), 2);
    Call second = std::move(first);
    EXPECT_EQ(owned.use_count(), 2);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is what is looked at
    second();
    EXPECT_EQ(*owned, 1);
    second = Call([owned] { *owned += 10; });
    EXPECT_EQ(owned.use_count(), 2) << "the former is gone";
    second();
    EXPECT_EQ(*owned, 11);
    std::vector<Call> many;
    for (int i = 0; i < 20; ++i) many.emplace_back([owned, much] { *owned += 1 + static_cast<int>(much[0]); });
    for (auto& call : many) call();
    EXPECT_EQ(*owned, 31);
  }
  EXPECT_EQ(owned.use_count(), 1);
}

TEST(Call, SmallCapturesMoveAndAreLetGoOf) { moves_and_lets_go<1>(); }
TEST(Call, LargeCapturesMoveAndAreLetGoOf) { moves_and_lets_go<1000>(); }

TEST(Call, WhatCanOnlyBeMovedCanBeCaptured) {
  int seen = 0;
  Call call = [only = std::make_unique<int>(7), &seen] { seen = *only; };
  Call other = std::move(call);
  other();
  EXPECT_EQ(seen, 7);
}

}  // namespace
}  // namespace yoke
