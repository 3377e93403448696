// The optimizers of the servers against torch::optim: 200 updates with random gradients and changing learning rates.
//
// After every update each parameter p must lie within 1e-6 * max(1, |p|) of torch's q, and the distance of the whole
// vectors within 1e-6 of torch's norm. Parameters are of order one, so that is a few units in the last place after 200
// updates: the two sides may only differ in where they fuse a multiplication with an addition.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernel/pass.h"

namespace yoke::kernel {
namespace {

using Torch = std::unique_ptr<torch::optim::Optimizer>;

struct Case {
  std::string name;
  Optimizer ours;
  std::function<Torch(std::vector<torch::Tensor>)> theirs;
};

template <class T, class Options>
std::function<Torch(std::vector<torch::Tensor>)> make(Options options) {
  return [options](std::vector<torch::Tensor> params) { return std::make_unique<T>(std::move(params), options); };
}

std::vector<Case> cases() {
  namespace optim = torch::optim;
  const auto sgd = [](const SGD& o) {
    return make<optim::SGD>(
        optim::SGDOptions(o.lr).momentum(o.momentum).weight_decay(o.weight_decay).nesterov(o.nesterov));
  };
  const auto adagrad = [](const Adagrad& o) {
    return make<optim::Adagrad>(optim::AdagradOptions(o.lr)
                                    .lr_decay(o.lr_decay)
                                    .weight_decay(o.weight_decay)
                                    .initial_accumulator_value(o.initial_accumulator)
                                    .eps(o.eps));
  };
  const auto rmsprop = [](const RMSProp& o) {
    return make<optim::RMSprop>(optim::RMSpropOptions(o.lr)
                                    .alpha(o.alpha)
                                    .eps(o.eps)
                                    .weight_decay(o.weight_decay)
                                    .momentum(o.momentum)
                                    .centered(o.centered));
  };
  const auto adam = [](const Adam& o) {
    return make<optim::Adam>(
        optim::AdamOptions(o.lr).betas({o.beta1, o.beta2}).eps(o.eps).weight_decay(o.weight_decay));
  };
  const auto adamw = [](const AdamW& o) {
    return make<optim::AdamW>(
        optim::AdamWOptions(o.lr).betas({o.beta1, o.beta2}).eps(o.eps).weight_decay(o.weight_decay));
  };
  std::vector<Case> list;
  const auto add = [&](const std::string& name, const auto& options, const auto& theirs) {
    list.push_back({name, options, theirs(options)});
  };
  add("SGD", SGD{0.05}, sgd);
  add("SGDMomentum", SGD{0.01, 0.9}, sgd);
  add("SGDNesterov", SGD{0.01, 0.9, 0, true}, sgd);
  add("SGDWeightDecay", SGD{0.05, 0, 0.01}, sgd);
  add("SGDAll", SGD{0.01, 0.9, 0.01, true}, sgd);
  add("Adagrad", Adagrad{}, adagrad);
  add("AdagradAll", Adagrad{0.05, 0.01, 0.001, 0.1, 1e-8}, adagrad);
  add("RMSProp", RMSProp{}, rmsprop);
  add("RMSPropCentered", RMSProp{0.01, 0.99, 1e-8, 0, 0, true}, rmsprop);
  add("RMSPropMomentum", RMSProp{0.001, 0.99, 1e-8, 0, 0.9}, rmsprop);
  add("RMSPropAll", RMSProp{0.001, 0.95, 1e-6, 0.01, 0.9, true}, rmsprop);
  add("Adam", Adam{}, adam);
  add("AdamWeightDecay", Adam{0.01, 0.8, 0.99, 1e-6, 0.01}, adam);
  add("AdamW", AdamW{}, adamw);
  add("AdamWStrong", AdamW{0.01, 0.9, 0.999, 1e-8, 0.1}, adamw);
  return list;
}

// The learning rate's factor at an update: warm-up, two levels, and a plateau of zero.
double rate_at(int update) {
  if (update <= 10) return update / 10.0;
  if (update <= 100) return 1;
  return update <= 110 ? 0 : 0.1;
}

class OptimizerEquality : public testing::TestWithParam<Case> {};

TEST_P(OptimizerEquality, TwoHundredUpdates) {
  constexpr std::size_t kSize = 3001;
  const auto& [name, ours, make_theirs] = GetParam();
  torch::manual_seed(7);
  torch::Tensor q = torch::randn({static_cast<std::int64_t>(kSize)});
  std::vector<float> p(q.data_ptr<float>(), q.data_ptr<float>() + kSize);
  q.set_requires_grad(true);
  const Torch theirs = make_theirs({q});
  const double lr = theirs->param_groups()[0].options().get_lr();

  std::vector<std::vector<float>> states(states_of(ours));
  Block block = {kSize, p.data(), p.data(), {}, {}};
  for (std::size_t s = 0; s < states.size(); ++s) {
    states[s].assign(kSize, initial_state(ours, s));
    block.state_in[s] = block.state_out[s] = states[s].data();
  }
  for (int n = 1; n <= 200; ++n) {
    const torch::Tensor gradient = torch::randn_like(q);
    q.mutable_grad() = gradient.clone();
    theirs->param_groups()[0].options().set_lr(lr * rate_at(n));
    theirs->step();

    const Input input = {gradient.data_ptr<float>(), 1.0F};
    update(ours, {.rate = rate_at(n), .update = static_cast<std::uint64_t>(n)}, {&input, 1}, block);

    const float* expected = q.data_ptr<float>();
    double distance = 0;
    double norm = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
      const double difference = static_cast<double>(p[i]) - expected[i];
      ASSERT_LE(std::abs(difference), 1e-6 * std::max(1.0F, std::abs(expected[i])))
          << "element " << i << " of update " << n << ": " << p[i] << " and torch has " << expected[i];
      distance += difference * difference;
      norm += static_cast<double>(expected[i]) * expected[i];
    }
    ASSERT_LE(std::sqrt(distance), 1e-6 * std::sqrt(norm)) << "update " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerEquality, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace yoke::kernel
