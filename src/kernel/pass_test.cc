#include "kernel/pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel/pass_fixture.h"
#include "kernel/variants.h"

namespace yoke::kernel {
namespace {

TEST(Pass, InPlaceEqualsTwoVersions) {
  for (const auto& [name, optimizer] : cases()) {
    for (const std::size_t size : kSizes) {
      for (const std::size_t inputs : {1, 2, 5}) {
        SCOPED_TRACE(name + " of " + std::to_string(size));
        Fixture old(optimizer, size, inputs);
        const Fixture before = old;
        Fixture fresh(optimizer, size, 0, 77);
        update(optimizer, {}, old.inputs(), old.block(fresh));
        EXPECT_TRUE(old.same(before)) << "the old version is only read";
        update(optimizer, {}, old.inputs(), old.block(old));
        EXPECT_TRUE(old.same(fresh));
      }
    }
  }
}

TEST(Pass, EveryVariantHasTheBitsOfTheBaseline) {
  const auto variants = available_variants();
  EXPECT_STREQ(variants.front()->name, "baseline");
  EXPECT_STREQ(variants.back()->name, variant());
  for (const Passes* passes : variants) {
    for (const auto& [name, optimizer] : cases()) {
      for (const std::size_t size : kSizes) {
        SCOPED_TRACE(std::string(passes->name) + " " + name + " of " + std::to_string(size));
        Fixture expected(optimizer, size, 3);
        Fixture actual = expected;
        const Floats then = random_floats(size, 5);
        for (unsigned n = 1; n <= 3; ++n) {
          auto inputs = expected.inputs();
          inputs[n - 1].then = then.data();
          const Scalars scalars = {.rate = 0.3, .scale = 0.9, .compensation = 0.04, .update = n};
          update_with(*variants.front(), optimizer, scalars, inputs, expected.block(expected));
          update_with(*passes, optimizer, scalars, inputs, actual.block(actual));
        }
        ASSERT_TRUE(actual.same(expected));
        const auto inputs = expected.inputs();
        ASSERT_EQ(check_with(*passes, then).sum_squares, check_with(*variants.front(), then).sum_squares);
        ASSERT_EQ(sum_squares_of_mean_with(*passes, inputs, size),
                  sum_squares_of_mean_with(*variants.front(), inputs, size));
      }
    }
  }
}

TEST(Pass, CopiesHoldTheNewParameters) {
  for (const std::size_t size : kSizes) {
    Fixture f(SGD{0.1, 0.9}, size, 2);
    Floats a(size), b(size);
    const std::vector<float*> copies = {a.data(), b.data(), f.params.data()};
    update(f.optimizer, {}, f.inputs(), f.block(f), copies);
    EXPECT_TRUE(same_bits(a, f.params));
    EXPECT_TRUE(same_bits(b, f.params));
  }
}

// Replicas hand in their gradient in the very array where they want the parameters.
TEST(Pass, InputsMayBeTheCopiesAndTheOutput) {
  for (const auto& [name, optimizer] : cases()) {
    for (const std::size_t inputs : {1, 3}) {
      SCOPED_TRACE(name);
      Fixture expected(optimizer, 5000, inputs);
      Fixture actual = expected;
      Fixture fresh(optimizer, 5000, 0);
      update(optimizer, {}, expected.inputs(), expected.block(expected));
      Block block = actual.block(fresh);
      block.params_out = actual.gradients[0].data();
      std::vector<float*> copies;
      for (Floats& g : actual.gradients) copies.push_back(g.data());
      update(optimizer, {}, actual.inputs(), block, copies);
      for (const Floats& g : actual.gradients) EXPECT_TRUE(same_bits(g, expected.params));
    }
  }
}

TEST(Pass, WithoutInputsTheBlockIsCarriedOver) {
  for (const auto& [name, optimizer] : cases()) {
    for (const std::size_t size : kSizes) {
      SCOPED_TRACE(name);
      Fixture old(optimizer, size, 0);
      for (Floats& s : old.states) s = random_floats(size, 9);
      Fixture fresh(optimizer, size, 0, 77);
      Floats copy(size);
      const std::vector<float*> copies = {copy.data()};
      update(optimizer, {.update = 5}, {}, old.block(fresh), copies);
      EXPECT_TRUE(fresh.same(old));
      EXPECT_TRUE(same_bits(copy, old.params));
      update(optimizer, {}, {}, old.block(old));
      EXPECT_TRUE(fresh.same(old));
    }
  }
}

TEST(Pass, CopiesPastTheCaches) {
  const auto from = random_floats(5000, 3);
  for (const std::size_t size : {0, 1, 15, 16, 17, 4000})
    for (const std::size_t skew : {0, 1, 15}) {
      Floats to(5000, -1);
      copy_past_caches(from.data() + 2, to.data() + skew, size);
      EXPECT_TRUE(std::equal(to.begin() + static_cast<long>(skew), to.begin() + static_cast<long>(skew + size),
                             from.begin() + 2));
      EXPECT_EQ(std::count(to.begin(), to.end(), -1.0F), static_cast<long>(5000 - size))
          << "and nothing else is written";
    }
}

TEST(Pass, TellsWhetherTheSumIsFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::size_t size : kSizes) {
    if (size == 0) continue;
    for (const std::size_t inputs : {1, 2, 5}) {
      Fixture plain(SGD{0.1, 0.9}, size, inputs), checked = plain;
      update(plain.optimizer, {}, plain.inputs(), plain.block(plain));
      EXPECT_TRUE(update(checked.optimizer, {.check = true}, checked.inputs(), checked.block(checked)));
      EXPECT_TRUE(checked.same(plain)) << "the same bits";
      for (const float bad : {std::nanf(""), kInfinity, -kInfinity}) {
        for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
          Fixture spoilt(SGD{0.1, 0.9}, size, inputs);
          spoilt.gradients.back()[at] = bad;
          EXPECT_FALSE(update(spoilt.optimizer, {.check = true}, spoilt.inputs(), spoilt.block(spoilt)));
          EXPECT_TRUE(update(spoilt.optimizer, {}, spoilt.inputs(), spoilt.block(spoilt))) << "nobody asked";
        }
      }
    }
  }
}

TEST(Pass, DelayCompensationMovesTheGradient) {
  constexpr std::size_t kSize = 2100;
  Fixture f(Average{}, kSize, 3);
  const Floats now = f.params;
  const Floats then0 = random_floats(kSize, 50);
  const Floats then2 = random_floats(kSize, 51);
  auto inputs = f.inputs();
  inputs[0].then = then0.data();
  inputs[2].then = then2.data();
  const Scalars scalars = {.rate = 1, .scale = 0.5, .compensation = 0.04, .update = 1};
  update(f.optimizer, scalars, inputs, f.block(f));
  for (std::size_t i = 0; i < kSize; ++i) {
    double g = 0;
    for (const Input& input : inputs) {
      const double v = input.values[i];
      const double moved = input.then == nullptr ? 0.0 : static_cast<double>(now[i]) - input.then[i];
      g += input.weight * (v + 0.04 * v * v * moved);
    }
    ASSERT_NEAR(f.params[i], 0.5 * g, 1e-6 * std::max(1.0, std::abs(g)));
  }
}

TEST(Pass, WithoutLambdaThenIsNotRead) {
  Fixture expected(SGD{}, 100, 2);
  Fixture actual = expected;
  const Floats nan(100, std::numeric_limits<float>::quiet_NaN());
  auto inputs = actual.inputs();
  for (Input& input : inputs) input.then = nan.data();
  update(SGD{}, {}, expected.inputs(), expected.block(expected));
  update(SGD{}, {}, inputs, actual.block(actual));
  EXPECT_TRUE(actual.same(expected));
}

}  // namespace
}  // namespace yoke::kernel
