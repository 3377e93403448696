#include "torch_adapter/late_values.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <vector>

namespace yoke::torch_adapter {
namespace {

// Values come when they are awaited, and not before.
class Slow : public Exchange {
 public:
  explicit Slow(std::vector<torch::Tensor> slots) : slots_(std::move(slots)) {
    const torch::NoGradGuard no_grad;
    for (const auto& slot : slots_) {
      right_.push_back(slot.detach().clone());
      slot.fill_(std::numeric_limits<float>::quiet_NaN());
    }
  }
  Result<Assignment> begin() override { return Assignment{}; }
  Status await(SlotId slot) override {
    awaited.push_back(slot);
    if (fails) return Error{*fails, "nothing comes"};
    std::copy_n(right_[slot].data_ptr<float>(), right_[slot].numel(), slots_[slot].data_ptr<float>());
    return {};
  }
  Status ready(SlotId, Payload) override { return {}; }
  bool abandoned() const override { return false; }
  Result<Outcome> finish() override { return Outcome{}; }

  std::vector<LateValues::Late> all() const {
    std::vector<LateValues::Late> late;
    for (SlotId slot = 0; slot < slots_.size(); ++slot) late.push_back({slot, LateValues::storage_of(slots_[slot])});
    return late;
  }
  std::vector<SlotId> awaited;
  std::optional<Code> fails;

 private:
  std::vector<torch::Tensor> slots_, right_;
};

struct Network {
  torch::nn::Sequential layers{torch::nn::Linear(6, 5), torch::nn::BatchNorm1d(5), torch::nn::ReLU(),
                               torch::nn::Linear(5, 3)};
  torch::Tensor input = torch::randn({4, 6});
  torch::Tensor expected = layers->forward(input).detach().clone();
};

TEST(LateValues, EachOperationWaitsForItsOwn) {
  torch::manual_seed(1);
  Network network;
  Slow exchange(network.layers->parameters());
  const LateValues late(exchange, exchange.all());
  const auto first = network.layers[0]->as<torch::nn::Linear>()->forward(network.input);
  EXPECT_EQ(exchange.awaited.size(), 2u) << "weight and bias of the first layer, and no others";
  auto rest = network.layers[1]->as<torch::nn::BatchNorm1d>()->forward(first);
  rest = network.layers[3]->as<torch::nn::Linear>()->forward(rest.relu());
  EXPECT_TRUE(torch::equal(rest, network.expected));
  auto slots = exchange.awaited;
  EXPECT_EQ(slots.size(), 6u) << "each once";
  EXPECT_LT(std::max(slots[0], slots[1]), std::min(slots[2], slots[3]));
  EXPECT_LT(std::max(slots[2], slots[3]), std::min(slots[4], slots[5]));
  EXPECT_EQ(late.problem(), "");
}

TEST(LateValues, ViewsListsAndTheBackwardPassAreOperationsToo) {
  auto one = torch::randn({2, 3}).requires_grad_(), other = torch::randn({2, 3}).requires_grad_(),
       never = torch::randn({3}).requires_grad_();
  const auto view = one.view({3, 2});  // made before it was late
  const auto sum = torch::stack({one, other}).sum().item<float>() + view.select(0, 2).sum().item<float>();
  Slow exchange({one, other, never});
  const LateValues late(exchange, exchange.all());
  const auto end = view.select(0, 2).sum();
  EXPECT_EQ(exchange.awaited, std::vector<SlotId>{0});
  const auto all = torch::stack({one, other}).sum();
  EXPECT_EQ(exchange.awaited, (std::vector<SlotId>{0, 1}));
  EXPECT_EQ(all.item<float>() + end.item<float>(), sum);
  (all * 2).backward();
  EXPECT_TRUE(torch::equal(one.grad(), torch::full({2, 3}, 2.0)));
  EXPECT_EQ(exchange.awaited.size(), 2u) << "nobody has used the third";
}

TEST(LateValues, NobodyWaitsAnyMoreWhenItIsGone) {
  auto parameter = torch::randn({3});
  Slow exchange({parameter});
  { const LateValues late(exchange, exchange.all()); }
  static_cast<void>(parameter + 1);
  EXPECT_TRUE(exchange.awaited.empty());
}

TEST(LateValues, OfSeveralNetworksEachHasItsOwn) {
  auto one = torch::randn({3}), other = torch::randn({3});
  Slow first({one}), second({other});
  const LateValues late(first, first.all()), later(second, second.all());
  const auto sum = one + other;
  EXPECT_TRUE(sum.isfinite().all().item<bool>());
  EXPECT_EQ(first.awaited.size() + second.awaited.size(), 2u);
}

TEST(LateValues, AWaitThatEndsInAnErrorIsTold) {
  auto parameter = torch::randn({3});
  Slow exchange({parameter});
  exchange.fails = Code::timed_out;
  const LateValues late(exchange, exchange.all());
  static_cast<void>(parameter + 1);
  EXPECT_EQ(late.problem(), "nothing comes");
}

TEST(LateValues, AStepThatIsLostIsNoProblem) {
  auto parameter = torch::randn({3});
  Slow exchange({parameter});
  exchange.fails = Code::cancelled;
  const LateValues late(exchange, exchange.all());
  static_cast<void>(parameter + 1);
  EXPECT_EQ(late.problem(), "");
}

}  // namespace
}  // namespace yoke::torch_adapter
