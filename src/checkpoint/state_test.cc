#include "yoke/state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace yoke {
namespace {

template <class T>
StateTensor tensor(const std::string& name, DType type, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {name, type, std::move(shape), {bytes.begin(), bytes.end()}};
}

TEST(State, TypesHaveSizesAndNames) {
  EXPECT_EQ(size_of(DType::f64), 8U);
  EXPECT_EQ(size_of(DType::bf16), 2U);
  EXPECT_EQ(size_of(DType::boolean), 1U);
  EXPECT_EQ(name_of(DType::f16), "F16");
  EXPECT_EQ(name_of(DType::boolean), "BOOL");
  for (const auto type : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i16,
                          DType::i8, DType::u8, DType::boolean})
    EXPECT_EQ(dtype_named(name_of(type)), type);
  EXPECT_EQ(dtype_named("f32"), std::nullopt);
}

TEST(State, CountsElementsWithoutOverflow) {
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(elements_of(Shape{}), 1U);
  EXPECT_EQ(elements_of(Shape{2, 3, 4}), 24U);
  EXPECT_EQ(elements_of(Shape{2, 0}), 0U);
  EXPECT_EQ(elements_of(Shape{2, -1}), std::nullopt);
  EXPECT_EQ(elements_of(Shape{std::int64_t{1} << 62, 3}), std::uint64_t{3} << 62);
  EXPECT_EQ(elements_of(Shape{std::int64_t{1} << 62, 4}), std::nullopt);
}

TEST(State, FindsByName) {
  State state;
  state.tensors = {tensor<float>("a", DType::f32, {1}, {1}), tensor<float>("b", DType::f32, {1}, {2})};
  EXPECT_EQ(state.find("b"), &state.tensors[1]);
  EXPECT_EQ(state.find("c"), nullptr);
}

// Sign, exponent and fraction as the books define them: `bits` of fraction, an exponent biased by `bias`.
double by_the_book(std::uint16_t word, int bits, int bias) {
  const double sign = word & 0x8000 ? -1 : 1;
  const int exponent = (word & 0x7fff) >> bits, most = 0x7fff >> bits;
  const double fraction = (word & ((1 << bits) - 1)) / std::pow(2.0, bits);
  if (exponent == most)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * fraction * std::pow(2.0, 1 - bias);
  return sign * (1 + fraction) * std::pow(2.0, exponent - bias);
}

TEST(State, EveryHalfAndBrainFloatIsWhatTheBooksSay) {
  std::vector<std::uint16_t> words(1 << 16);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint16_t>(i);
  const auto half = floats_of(tensor("h", DType::f16, {1 << 16}, words));
  const auto brain = floats_of(tensor("b", DType::bf16, {1 << 16}, words));
  ASSERT_TRUE(half.ok() && brain.ok());
  const auto same = [](float got, double expected) {
    if (std::isnan(expected)) return std::isnan(got);
    return got == expected && std::signbit(got) == std::signbit(expected);
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    ASSERT_TRUE(same((*half)[i], by_the_book(words[i], 10, 15))) << i << ": " << (*half)[i];
    ASSERT_TRUE(same((*brain)[i], by_the_book(words[i], 7, 127))) << i << ": " << (*brain)[i];
  }
}

TEST(State, WideTypesComeAsFloatAndAsDouble) {
  EXPECT_EQ(*floats_of(tensor<float>("w", DType::f32, {2}, {1.5f, -0.1f})), (std::vector<float>{1.5f, -0.1f}));
  const auto wide = tensor<double>("w", DType::f64, {2, 1}, {0.1, 1e300});
  EXPECT_EQ((*floats_of(wide))[0], 0.1f);
  EXPECT_EQ(*doubles_of(wide), (std::vector<double>{0.1, 1e300}));
  EXPECT_EQ(floats_of(tensor<float>("none", DType::f32, {0, 3}, {}))->size(), 0U);
}

TEST(State, WhatCannotBeFloatsIsNamed) {
  const auto whole = floats_of(tensor<std::int64_t>("steps", DType::i64, {1}, {3}));
  ASSERT_FALSE(whole.ok());
  EXPECT_EQ(whole.error().code, Code::invalid_argument);
  EXPECT_EQ(whole.error().message, "tensor 'steps' is of type I64: F64, F32, F16 or BF16 is needed");
  const auto torn = floats_of(tensor<float>("w", DType::f32, {2, 2}, {1, 2, 3}));
  ASSERT_FALSE(torn.ok());
  EXPECT_EQ(torn.error().code, Code::corrupt);
  EXPECT_EQ(torn.error().message, "tensor 'w': 12 bytes do not make the shape [2, 2] of F32");
}

}  // namespace
}  // namespace yoke
