// The ways to attach: groups, accumulation, optimizers of one's own, several networks, TorchScript, buffers.
#include <gtest/gtest.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <limits>
#include <map>
#include <mutex>

#include "torch_adapter/attach_fixture.h"

namespace yoke::torch_adapter {
namespace {

TEST(Attach, AccumulatedGradientsAreOneGradient) {
  std::map<std::uint32_t, torch::Tensor> trained;  // by backward passes a step
  for (std::uint32_t passes : {1u, 2u, 4u}) {
    const auto summary = run_job(options_for(Strategy::sync, 1, 6), [&](Replica& replica) {
      torch::manual_seed(5);
      nn::Linear net(3, 2);
      auto train = replica.attach(net, SGD{.lr = 0.1}, AttachOptions{.backwards_per_step = passes});
      for (const auto& batch : replica.samples(kSamples, 8)) {
        const auto parts = inputs_of(batch, 3).chunk(passes);
        for (const auto& part : parts) (net->forward(part).square().mean() / static_cast<double>(passes)).backward();
        train.step();
      }
      trained[passes] = flat(net->parameters());
    });
    ASSERT_TRUE(summary) << summary.error().message;
  }
  EXPECT_TRUE(trained[1].allclose(trained[2], 1e-5, 1e-6));
  EXPECT_TRUE(trained[1].allclose(trained[4], 1e-5, 1e-6));
}

TEST(Attach, GroupsHaveTheirOwnOptimizers) {
  torch::Tensor first, second;
  const auto summary = run_job(options_for(Strategy::sync, 2, 4), [&](Replica& replica) {
    nn::Sequential net(nn::Linear(3, 4), nn::Linear(4, 2));
    {
      const torch::NoGradGuard no_grad;
      for (auto& p : net->parameters()) p.fill_(0.5);
    }
    auto train = replica.attach(net, std::vector<Group>{{net[0]->as<nn::Linear>()->parameters(), SGD{.lr = 0}},
                                                        {net[1]->as<nn::Linear>()->parameters(), Adam{.lr = 0.01}}});
    for (const auto& batch : replica.samples(kSamples, 4)) {
      train.backward(net->forward(inputs_of(batch, 3)).square().mean());
      train.step();
    }
    if (replica.chief())
      first = flat(net[0]->as<nn::Linear>()->parameters()), second = flat(net[1]->as<nn::Linear>()->parameters());
  });
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_TRUE(first.equal(torch::full_like(first, 0.5f)));
  EXPECT_FALSE(second.equal(torch::full_like(second, 0.5f)));
}

// Each replica's own torch::optim sees the mean gradient, also in the steps at the end of an epoch for which it had
// none.
TEST(Attach, AnOptimizerOfOnesOwnWorksUnderMirrored) {
  std::mutex mutex;
  std::vector<torch::Tensor> trained;
  auto options = options_for(Strategy::mirrored, 3, 0);
  options.epochs = 2;
  const auto summary = run_job(options, [&](Replica& replica) {
    torch::manual_seed(replica.id());
    nn::Linear net(3, 2);
    torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(0.01));
    auto train = replica.attach(net, optimizer);
    for (const auto& batch : replica.samples(kSamples, 9)) {  // 64 = 2 * 27 + 10: one replica has none at the end
      train.backward(net->forward(inputs_of(batch, 3)).square().mean());
      train.step();
    }
    const std::lock_guard lock(mutex);
    trained.push_back(flat(net->parameters()));
  });
  ASSERT_TRUE(summary) << summary.error().message;
  ASSERT_EQ(trained.size(), 3u);
  EXPECT_TRUE(trained[1].equal(trained[0]) && trained[2].equal(trained[0]));

  const auto said = failure_of(options_for(Strategy::sync, 1, 4), [&](Replica& replica) {
    nn::Linear net(3, 2);
    torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1));
    replica.attach(net, optimizer);
  });
  EXPECT_SAYS(said, "yoke::SGD, Adagrad, RMSProp, Adam or AdamW");
}

TEST(Attach, TwoNetworksEachHaveTheirSteps) {
  std::mutex mutex;
  std::vector<torch::Tensor> trained;
  const auto summary = run_job(options_for(Strategy::sync, 2, 10), [&](Replica& replica) {
    nn::Linear generator(3, 3), critic(3, 1);
    auto train_critic = replica.attach(critic, Adam{.lr = 0.01});
    auto train_generator = replica.attach(generator, Adam{.lr = 0.01});
    for (const auto& batch : replica.samples(kSamples, 4)) {
      auto x = inputs_of(batch, 3);
      train_critic.backward((critic->forward(generator->forward(x).detach()) - critic->forward(x)).mean());
      train_critic.step();
      for (auto& p : critic->parameters()) p.set_requires_grad(false);
      train_generator.backward(-critic->forward(generator->forward(x)).mean());
      for (auto& p : critic->parameters()) p.set_requires_grad(true);
      train_generator.step();
    }
    const std::lock_guard lock(mutex);
    trained.push_back(flat(critic->parameters()));
  });
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->steps, 10u);
  ASSERT_EQ(trained.size(), 2u);
  EXPECT_TRUE(trained[0].equal(trained[1]));
}

TEST(Attach, TorchScriptModulesTrain) {
  double first = 0, last = 0;
  const auto summary = run_job(options_for(Strategy::sync, 2, 20), [&](Replica& replica) {
    torch::jit::Module net("net");
    net.register_parameter("weight", torch::full({3, 2}, 0.3).requires_grad_(), false);
    net.define("def forward(self, x):\n    return torch.matmul(x, self.weight)\n");
    auto train = replica.attach(net, SGD{.lr = 0.1});
    for (const auto& batch : replica.samples(kSamples, 8)) {
      auto loss = net.forward({inputs_of(batch, 3)}).toTensor().square().mean();
      train.backward(loss);
      const auto outcome = train.step();
      if (replica.chief()) (outcome.version == 1 ? first : last) = loss.item<double>();
    }
  });
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_LT(last, 0.5 * first);
}

// Running statistics travel with the gradient: their mean over the replicas becomes everybody's.
TEST(Attach, BatchNormBuffersAreAveraged) {
  for (auto strategy : {Strategy::sync, Strategy::mirrored}) {
    std::mutex mutex;
    std::map<std::uint32_t, torch::Tensor> mean;
    auto options = options_for(strategy, 2, 1);
    const auto summary = run_job(options, [&](Replica& replica) {
      nn::BatchNorm1d net(2);
      auto train = replica.attach(net, SGD{.lr = 0.1});
      for (const auto& batch : replica.samples(kSamples, 4)) {
        auto x = torch::full({static_cast<std::int64_t>(batch.size()), 2}, static_cast<float>(replica.id() * 2 + 1));
        train.backward(net->forward(x).sum());
        train.step();
      }
      const std::lock_guard lock(mutex);
      mean[replica.id()] = net->running_mean.clone();
    });
    ASSERT_TRUE(summary) << summary.error().message;
    // Momentum 0.1 of inputs 1 and 3: 0.1 and 0.3, on average 0.2.
    for (const auto& [id, value] : mean)
      EXPECT_TRUE(value.allclose(torch::full({2}, 0.2f))) << "replica " << id << value;
  }
}

TEST(Attach, ALoopWithoutSamplesMakesItsSteps) {
  for (auto strategy : {Strategy::sync, Strategy::mirrored, Strategy::async}) {
    const auto summary = run_job(options_for(strategy, 2, 6), [&](Replica& replica) {
      nn::Linear net(3, 2);
      auto train = replica.attach(net, SGD{.lr = 0.1});
      while (!train.done()) {
        train.backward(net->forward(torch::ones({2, 3})).square().mean());
        train.step();
      }
    });
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_EQ(summary->steps, 6u);
  }
}

// A parameter that only some replicas use gets the mean over all of them; one that nobody uses is not moved, not even
// by momentum; the mean is clipped.
TEST(Attach, AnOptimizerOfOnesOwnSeesTheMeanOverAllReplicas) {
  torch::Tensor some, nobody;
  auto options = options_for(Strategy::mirrored, 2, 2);
  options.clip_norm = 0.25;
  const auto summary = run_job(options, [&](Replica& replica) {
    auto net = std::make_shared<nn::Module>();
    auto a = net->register_parameter("a", torch::zeros({1}));
    auto b = net->register_parameter("b", torch::zeros({1}));
    torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(1).momentum(0.9));
    auto train = replica.attach(*net, optimizer);
    bool first = true;
    for (const auto& batch : replica.samples(kSamples, 4)) {
      (void)batch;
      auto loss = torch::zeros({1}) * a;
      if (replica.chief()) loss = loss + a;
      if (first) loss = loss + 0 * b + b * (replica.chief() ? 0.0 : 0.0);
      train.backward(loss.sum());
      train.step();
      first = false;
    }
    if (replica.chief()) some = a.detach().clone(), nobody = b.detach().clone();
  });
  ASSERT_TRUE(summary) << summary.error().message;
  // The mean gradient of a is 1/2, clipped to 1/4: two steps of it, the second with momentum.
  EXPECT_NEAR(some.item<float>(), -(0.25 + 0.25 + 0.9 * 0.25), 1e-4);
  EXPECT_EQ(nobody.item<float>(), 0);
}

// A batch that spoils batch-norm's statistics is refused, and does not spoil the replica.
TEST(Attach, ASpoiltForwardPassDoesNotPoisonTheBuffers) {
  for (auto strategy : {Strategy::sync, Strategy::mirrored}) {
    std::mutex mutex;
    std::vector<torch::Tensor> means;
    const auto summary = run_job(options_for(strategy, 2, 8), [&](Replica& replica) {
      nn::BatchNorm1d net(2);
      auto train = replica.attach(net, SGD{.lr = 0.1});
      bool spoil = replica.id() == 1;
      for (const auto& batch : replica.samples(kSamples, 4)) {
        auto x = torch::ones({static_cast<std::int64_t>(batch.size()), 2});
        if (spoil) x[0][0] = std::numeric_limits<float>::infinity();
        train.backward(net->forward(x).sum());
        EXPECT_EQ(train.step().dropped(), spoil);
        spoil = false;
      }
      const std::lock_guard lock(mutex);
      means.push_back(net->running_mean.clone());
    });
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_EQ(summary->refused, 1u);
    for (const auto& mean : means) EXPECT_TRUE(mean.isfinite().all().item<bool>()) << mean;
  }
}

// The same dropout in two deterministic runs, though the generator is one for the whole process.
TEST(Attach, DeterministicRunsAreBitEqualAlsoWithRandomLayers) {
  std::vector<torch::Tensor> trained;
  for (int run = 0; run < 2; ++run) {
    auto options = options_for(Strategy::sync, 3, 12, 2);
    options.deterministic = true;
    const auto summary = run_job(options, [&](Replica& replica) {
      nn::Sequential net(nn::Linear(3, 16), nn::Dropout(0.5), nn::Linear(16, 2));
      const torch::NoGradGuard no_grad;
      for (auto& p : net->parameters()) p.copy_(torch::linspace(-1, 1, p.numel()).view(p.sizes()));
      const torch::AutoGradMode grad(true);
      auto train = replica.attach(net, Adam{.lr = 0.01});
      for (const auto& batch : replica.samples(kSamples, 4)) {
        train.backward(net->forward(inputs_of(batch, 3)).square().mean());
        train.step();
      }
      if (replica.chief()) trained.push_back(flat(net->parameters()));
    });
    ASSERT_TRUE(summary) << summary.error().message;
  }
  EXPECT_TRUE(trained[0].equal(trained[1]));
}

}  // namespace
}  // namespace yoke::torch_adapter
