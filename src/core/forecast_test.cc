// Scenarios, driven by hand: what is made before it is decided.
#include "core/hand_driven.h"
#include "core/shard_fixture.h"

namespace yoke::core {
namespace {

struct ForecastBench : DrivenShard {
  // Pushes both blocks of both gradients: tickets 10, 11 and 20, 21.
  void push_all() {
    for (BlockId block : {0u, 1u}) {
      hear<Verify>(Push{kA, 0, block, 10 + block, 2});
      hear<Verify>(Push{kB, 0, block, 20 + block, 2});
    }
  }
};

const Forecast kBoth{0, {{kA, 0.5}, {kB, 0.5}}, 1};

TEST(ForecastTest, ABlockIsMadeAndTravelsWhenItsLastGradientIsThere) {
  ForecastBench b;
  b.hear<Verify>(kBoth);
  EXPECT_TRUE(b.hear<Verify>(Push{kA, 0, 1, 11, 2}).empty()) << "the pass will look at it";
  const auto passes = b.hear<Reduce>(Push{kB, 0, 1, 21, 2});
  ASSERT_EQ(passes.size(), 1u);
  EXPECT_TRUE(passes[0].ahead);
  EXPECT_EQ(passes[0].block, 1u);
  ASSERT_EQ(passes[0].shares.size(), 2u);
  EXPECT_EQ(passes[0].shares[1].ticket, 21u);
  EXPECT_EQ(passes[0].shares[1].weight, 0.5);
  const auto previews = b.on<Preview>(BlockReduced{1, 1, true});
  ASSERT_EQ(previews.size(), 1u);
  EXPECT_EQ(previews[0].version, 1u);
  EXPECT_EQ(previews[0].lives, (std::vector<Life>{kA.life, kB.life}));

  b.hear<Reduce>(Push{kA, 0, 0, 10, 2});
  b.hear<Reduce>(Push{kB, 0, 0, 20, 2});
  EXPECT_EQ(b.on<Report>(BlockReduced{0, 1, true}).size(), 2u) << "both gradients are whole and sound";
  const auto kept = b.hear<Keep>(record_of({kA, kB}));
  EXPECT_EQ(kept.size(), 2u) << "nothing is made a second time";
  EXPECT_EQ(b.hear<Parameters>(Commit{1}).size(), 2u) << "to those whose gradients are in it, unasked";
}

TEST(ForecastTest, OneThatIsEarlyIsLookedAtWithoutTheOthers) {
  ForecastBench b;
  b.hear<Verify>(kBoth);
  b.hear<Verify>(Push{kA, 0, 0, 10, 2});
  b.hear<Verify>(Push{kB, 0, 0, 20, 2});
  EXPECT_EQ(b.hear<Verify>(Push{kA, 0, 1, 11, 2}).size(), 1u) << "block 0 is being made";
  b.on<Report>(Verified{11, true, 1});
  const auto reports = b.on<Report>(BlockReduced{0, 1, true});
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].gradient, kA);
  EXPECT_EQ(b.hear<Reduce>(Push{kB, 0, 1, 21, 2}).size(), 1u);
}

TEST(ForecastTest, WhatIsDecidedOtherwiseIsMadeAgain) {
  ForecastBench b;
  b.hear<Verify>(kBoth);
  b.push_all();
  b.on<Preview>(BlockReduced{0, 1, true});
  EXPECT_TRUE(b.hear<Reduce>(record_of({kA})).empty()) << "block 1 is still being made: of both";
  const auto passes = b.on<Reduce>(BlockReduced{1, 1, true});
  ASSERT_EQ(passes.size(), 2u);
  for (const auto& pass : passes) {
    EXPECT_FALSE(pass.ahead);
    ASSERT_EQ(pass.shares.size(), 1u);
    EXPECT_EQ(pass.shares[0].gradient, kA);
  }
  const auto first_of = [&](auto is) { return std::ranges::find_if(b.out, is); };
  EXPECT_LT(first_of([](const Effect& e) { return std::holds_alternative<Unmake>(e); }),
            first_of([](const Effect& e) { return std::holds_alternative<Reduce>(e); }));
}

TEST(ForecastTest, WhatIsTakenBackIsLookedAtOneByOne) {
  ForecastBench b;
  b.hear<Verify>(kBoth);
  b.hear<Verify>(Push{kA, 0, 0, 10, 2});
  const auto looks = b.hear<Verify>(Forecast{0, {}, 0});
  ASSERT_EQ(looks.size(), 1u);
  EXPECT_EQ(looks[0].ticket, 10u);
  EXPECT_EQ(b.hear<Verify>(Push{kB, 0, 0, 20, 2}).size(), 1u);
  b.hear<Verify>(kBoth);  // late: it overtook nothing, it was overtaken
  EXPECT_EQ(b.hear<Verify>(Push{kB, 0, 1, 21, 2}).size(), 1u);
}

TEST(ForecastTest, WhoSpoiltASumIsFoundAndRefused) {
  ForecastBench b;
  b.hear<Verify>(kBoth);
  b.push_all();
  EXPECT_EQ(b.on<Verify>(BlockReduced{0, 1, false}).size(), 2u) << "each of the two on its own";
  EXPECT_TRUE(b.on<Report>(Verified{10, true, 1}).empty());
  const auto reports = b.on<Report>(Verified{20, false, 0, "NaN"});
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].gradient, kB);
  EXPECT_FALSE(reports[0].ok);
  // Its blocks are let go of only when nothing reads them any more: block 1 is still being made.
  EXPECT_EQ(b.hear<Release>(Record{.turned_away = {{kB, Fate::refused}}}).size(), 1u);
  EXPECT_EQ(b.on<Release>(BlockReduced{1, 1, true}).size(), 1u);
}

TEST(ForecastTest, TheSequencerSaysWhatAStepWillBeMadeOf) {
  Bench b({.replicas = 2, .forecasts = true});
  b.join(0);
  EXPECT_TRUE(b.forecasts.empty());
  b.join(1);
  ASSERT_EQ(b.forecasts.size(), 1u);
  EXPECT_EQ(b.forecasts[0].step, 0u);
  ASSERT_EQ(b.forecasts[0].parts.size(), 2u);
  EXPECT_EQ(b.forecasts[0].parts[0].gradient, b.work(0).gradient);
  EXPECT_EQ(b.forecasts[0].parts[0].weight, 0.5);
  for (ReplicaId r : {0u, 1u}) b.report(b.work(r).gradient, 0);
  EXPECT_EQ(b.forecasts.size(), 1u) << "of the next step only when this one is committed";
  b.reduce(1);
  ASSERT_EQ(b.forecasts.size(), 2u);
  EXPECT_EQ(b.forecasts[1].step, 1u);
}

TEST(ForecastTest, TheSequencerTakesItBackWhenOneIsGone) {
  Bench b({.replicas = 2, .forecasts = true});
  b.join(0);
  b.join(1);
  b.on(Down{{1, 1}, "unplugged"});
  ASSERT_EQ(b.forecasts.size(), 2u);
  EXPECT_EQ(b.forecasts[1].step, 0u);
  EXPECT_TRUE(b.forecasts[1].parts.empty());
  b.on(Reset{shard_at(0)});
  ASSERT_EQ(b.forecasts.size(), 3u);
  EXPECT_TRUE(b.forecasts[2].parts.empty()) << "one that may have missed it is told again";
}

}  // namespace
}  // namespace yoke::core
