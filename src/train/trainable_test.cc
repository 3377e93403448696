#include "yoke/trainable.h"

#include <gtest/gtest.h>

#include <cstring>

namespace yoke {
namespace {

template <class T>
StateTensor tensor(const std::string& name, DType type, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {name, type, std::move(shape), {bytes.begin(), bytes.end()}};
}

// Two slots and no data.
class Pair : public Trainable {
 public:
  Pair() {
    layout_.slots = {{"weight", {2, 2}}, {"bias", {2}}};
    values_ = {{1, 2, 3, 4}, {5, 6}};
  }
  const Layout& layout() const override { return layout_; }
  std::span<float> values(SlotId slot) override { return values_[slot]; }
  std::uint64_t samples() const override { return 0; }
  Result<StepResult> compute(std::span<const std::uint64_t>, Exchange&) override { return StepResult{}; }
  Result<Evaluation> evaluate(HeldOut, const std::function<bool()>&) override { return Evaluation{}; }

  Layout layout_;
  std::vector<std::vector<float>> values_;
};

TEST(TrainableState, IsATensorASlot) {
  Pair pair;
  const auto state = pair.state();
  ASSERT_EQ(state.tensors.size(), 2U);
  EXPECT_EQ(state.tensors[0].name, "weight");
  EXPECT_EQ(state.tensors[0].type, DType::f32);
  EXPECT_EQ(state.tensors[0].shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(*floats_of(state.tensors[1]), (std::vector<float>{5, 6}));

  Pair other;
  other.values_ = {{0, 0, 0, 0}, {0, 0}};
  ASSERT_TRUE(other.restore(state).ok());
  EXPECT_EQ(other.values_, pair.values_);
}

TEST(TrainableState, TakesOtherTypesAndLeavesWhatIsNotThere) {
  Pair pair;
  State state;
  state.tensors = {tensor<double>("bias", DType::f64, {2}, {7, 8}), tensor<float>("stranger", DType::f32, {1}, {0})};
  ASSERT_TRUE(pair.restore(state).ok());
  EXPECT_EQ(pair.values_, (std::vector<std::vector<float>>{{1, 2, 3, 4}, {7, 8}}));
}

TEST(TrainableState, NamesWhatDoesNotFitAndChangesNothing) {
  Pair pair;
  const auto before = pair.values_;
  const auto weight = tensor<float>("weight", DType::f32, {2, 2}, {0, 0, 0, 0});
  const auto message = [&](const StateTensor& bias) {
    State state;
    state.tensors = {weight, bias};
    const auto status = pair.restore(state);
    EXPECT_EQ(pair.values_, before);
    return status.ok() ? "it was taken" : status.error().message;
  };
  EXPECT_EQ(message(tensor<float>("bias", DType::f32, {1, 2}, {0, 0})),
            "tensor 'bias' has the shape [1, 2], but the model's is [2]: restore what was saved from the same model");
  EXPECT_EQ(message(tensor<float>("bias", DType::f32, {2}, {0})),
            "tensor 'bias': 4 bytes do not make the shape [2] of F32");
  EXPECT_EQ(message(tensor<std::int32_t>("bias", DType::i32, {2}, {0, 0})),
            "tensor 'bias' is of type I32: F64, F32, F16 or BF16 is needed");
}

}  // namespace
}  // namespace yoke
