// On real data: replicas of a small batch do what plain LibTorch does with the large one.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>
#include <mutex>

#include "core/permutation.h"
#include "yoke/torch.h"

namespace yoke {
namespace {

namespace F = torch::nn::functional;
namespace nn = torch::nn;

constexpr std::uint64_t kSteps = 100;

nn::Sequential network() {
  nn::Sequential net(nn::Flatten(), nn::Linear(64, 32), nn::ReLU(), nn::Linear(32, 10));
  const torch::NoGradGuard no_grad;
  std::int64_t seed = 0;
  for (auto& p : net->parameters())
    p.copy_(torch::sin(torch::arange(p.numel()) * 12.9898 + ++seed).view(p.sizes()) * 0.2);
  return net;
}

torch::Tensor flat(const nn::Sequential& net) {
  std::vector<torch::Tensor> pieces;
  for (const auto& p : net->parameters()) pieces.push_back(p.detach().flatten().clone());
  return torch::cat(pieces);
}

const Data& digits() {
  static const Data data = load_data("digits");
  return data;
}

// No library of ours but the order of the samples.
torch::Tensor plain() {
  auto net = network();
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  const auto size = digits().train.size();
  std::uint64_t step = 0;
  for (std::uint32_t epoch = 0; step < kSteps; ++epoch) {
    const core::Permutation order(1, epoch, size);
    for (std::uint64_t begin = 0; begin < size && step < kSteps; begin += 32, ++step) {
      Batch samples;
      for (auto i = begin; i < std::min(size, begin + 32); ++i) samples.push_back(order(i));
      auto [x, y] = digits().train.get(samples);
      optimizer.zero_grad();
      F::cross_entropy(net->forward(x), y).backward();
      optimizer.step();
    }
  }
  return flat(net);
}

struct Run {
  std::vector<torch::Tensor> finals;                            // by replica
  std::map<std::uint64_t, std::vector<torch::Tensor>> by_step;  // as each replica saw it
};

Run train(Strategy strategy, std::uint32_t shards, bool deterministic) {
  Options options;
  options.strategy = strategy;
  options.replicas = 4;
  options.shards = shards;
  options.steps = kSteps;
  options.deterministic = deterministic;
  Run run;
  std::mutex mutex;
  run_job(options, [&](Replica& replica) {
    auto net = network();
    auto training = replica.attach(net, SGD{.lr = 0.05, .momentum = 0.9});
    std::uint64_t step = 0;
    for (const auto& batch : replica.samples(digits().train.size(), 8)) {
      auto [x, y] = digits().train.get(batch);
      training.backward(F::cross_entropy(net->forward(x), y));
      step = training.step().version;
      const std::lock_guard lock(mutex);
      run.by_step[step].push_back(flat(net));
    }
    const std::lock_guard lock(mutex);
    run.finals.push_back(flat(net));
  }).or_throw();
  return run;
}

double relative(const torch::Tensor& a, const torch::Tensor& b) { return ((a - b).norm() / b.norm()).item<double>(); }

TEST(Digits, FourTimesEightIsThirtyTwo) {
  const auto reference = plain();
  for (std::uint32_t shards : {1u, 3u})
    EXPECT_LT(relative(train(Strategy::sync, shards, false).finals[0], reference), 1e-5);
  EXPECT_LT(relative(train(Strategy::mirrored, 1, false).finals[0], reference), 1e-5);
}

TEST(Digits, MirroredReplicasAreBitIdenticalAtEveryStep) {
  const auto run = train(Strategy::mirrored, 1, false);
  for (const auto& [step, seen] : run.by_step)
    for (const auto& values : seen) ASSERT_TRUE(values.equal(seen.front())) << "step " << step;
  ASSERT_EQ(run.finals.size(), 4u);
  for (const auto& values : run.finals) EXPECT_TRUE(values.equal(run.finals.front()));
}

TEST(Digits, DeterministicRunsAreBitIdentical) {
  for (auto strategy : {Strategy::sync, Strategy::mirrored})
    for (std::uint32_t shards : {1u, 3u})
      EXPECT_TRUE(train(strategy, shards, true).finals[0].equal(train(strategy, shards, true).finals[0]));
}

}  // namespace
}  // namespace yoke
