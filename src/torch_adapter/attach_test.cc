// What LibTorch does to parameters, hooks and gradients, and how attach() deals with it: handled, or refused by name.
#include <gtest/gtest.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "core/permutation.h"
#include "yoke/torch.h"

namespace yoke {
namespace {

namespace F = torch::nn::functional;
namespace nn = torch::nn;

constexpr std::uint64_t kSamples = 64;

Options options_for(Strategy strategy, std::uint32_t replicas, std::uint64_t steps, std::uint32_t shards = 1) {
  Options options;
  options.strategy = strategy;
  options.replicas = replicas;
  options.steps = steps;
  options.shards = shards;
  return options;
}

torch::Tensor inputs_of(const Batch& samples, std::int64_t width) {
  auto x = torch::empty({static_cast<std::int64_t>(samples.size()), width});
  for (std::size_t i = 0; i < samples.size(); ++i)
    for (std::int64_t j = 0; j < width; ++j)
      x[static_cast<std::int64_t>(i)][j] =
          std::sin(static_cast<double>(samples[i] * 7 + static_cast<std::uint64_t>(j)));
  return x;
}

// The parameters of a network, as one vector.
torch::Tensor flat(const std::vector<torch::Tensor>& parameters) {
  std::vector<torch::Tensor> pieces;
  for (const auto& p : parameters) pieces.push_back(p.detach().flatten().clone());
  return torch::cat(pieces);
}

// Samples [step * n, (step + 1) * n) of the job's order: what n samples a step see.
Batch whole_batch(std::uint64_t seed, std::uint64_t step, std::uint64_t n) {
  const std::uint64_t per_epoch = kSamples / n;
  const core::Permutation order(seed, static_cast<std::uint32_t>(step / per_epoch), kSamples);
  Batch batch;
  for (std::uint64_t i = 0; i < n; ++i) batch.push_back(order(step % per_epoch * n + i));
  return batch;
}

// Runs the body in a job that is expected to fail, and returns what was said.
std::string failure_of(const Options& options, const std::function<void(Replica&)>& body) {
  const auto summary = run_job(options, body);
  return summary.ok() ? "it did not fail" : summary.error().message;
}

#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

struct TiedImpl : nn::Module {
  TiedImpl() : in(nn::LinearOptions(6, 6).bias(false)), out(nn::LinearOptions(6, 6).bias(false)) {
    register_module("in", in);
    register_module("out", out);
    out->weight = in->weight;
    out->register_parameter("tied", in->weight);
    unused = register_parameter("unused", torch::ones({5}));
  }
  torch::Tensor forward(const torch::Tensor& x) { return F::linear(in->forward(x).relu(), in->weight); }
  nn::Linear in, out;
  torch::Tensor unused;
};
TORCH_MODULE(Tied);

// A tied parameter is one slot, and an unused one never fires: both end as with a plain loop.
TEST(Attach, TiedAndUnusedParametersTrainAsInAPlainLoop) {
  torch::manual_seed(3);
  Tied reference;
  const auto start = flat({reference->in->weight});
  torch::optim::SGD optimizer({reference->in->weight}, torch::optim::SGDOptions(0.1));
  for (std::uint64_t step = 0; step < 8; ++step) {
    optimizer.zero_grad();
    reference->forward(inputs_of(whole_batch(1, step, 8), 6)).square().mean().backward();
    optimizer.step();
  }
  for (auto strategy : {Strategy::sync, Strategy::mirrored}) {
    torch::Tensor trained, unused;
    const auto summary = run_job(options_for(strategy, 2, 8, 2), [&](Replica& replica) {
      Tied net;
      {
        const torch::NoGradGuard no_grad;
        net->in->weight.copy_(start.view({6, 6}));
      }
      auto train = replica.attach(net, SGD{.lr = 0.1});
      for (const auto& batch : replica.samples(kSamples, 4)) {
        train.backward(net->forward(inputs_of(batch, 6)).square().mean());
        train.step();
      }
      if (replica.chief()) trained = flat({net->in->weight}), unused = net->unused.detach().clone();
    });
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_LT((trained - flat({reference->in->weight})).abs().max().item<double>(), 1e-6);
    EXPECT_TRUE(unused.equal(torch::ones({5})));
  }
}

TEST(Attach, AMovedParameterIsRefusedByName) {
  for (const bool by_load : {false, true}) {
    const auto said = failure_of(options_for(Strategy::sync, 1, 4), [&](Replica& replica) {
      nn::Linear net(3, 2);
      auto train = replica.attach(net, SGD{});
      for (const auto& batch : replica.samples(kSamples, 4)) {
        train.backward(net->forward(inputs_of(batch, 3)).sum());
        train.step();
        if (by_load) {
          net->weight.set_data(net->weight.detach().clone());
        } else {
          net->to(torch::kDouble);
          net->to(torch::kFloat);
        }
      }
    });
    EXPECT_SAYS(said, "parameter weight was moved after attach()");
  }
}

TEST(Attach, ASecondBackwardIsRefusedUnlessItWasAnnounced) {
  const auto said = failure_of(options_for(Strategy::sync, 1, 4), [&](Replica& replica) {
    nn::Linear net(3, 2);
    auto train = replica.attach(net, SGD{});
    for (const auto& batch : replica.samples(kSamples, 4)) {
      for (int i = 0; i < 2; ++i) net->forward(inputs_of(batch, 3)).sum().backward();
      train.step();
    }
  });
  EXPECT_SAYS(said, "backwards_per_step = 2");
}

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

TEST(Attach, SparseGradientsTrainWhereUntouchedRowsStay) {
  const auto body = [](Optimizer optimizer, torch::Tensor* result) {
    return [=](Replica& replica) {
      torch::manual_seed(5);
      nn::Embedding net(nn::EmbeddingOptions(10, 4).sparse(result != nullptr ? result->defined() : true));
      auto train = replica.attach(net, optimizer);
      for (const auto& batch : replica.samples(kSamples, 8)) {
        auto rows = torch::tensor(std::vector<std::int64_t>{static_cast<std::int64_t>(batch[0] % 10), 3, 3});
        train.backward(net->forward(rows).square().sum());
        train.step();
      }
      if (result) *result = flat(net->parameters());
    };
  };
  torch::Tensor dense, sparse = torch::ones({1});
  ASSERT_TRUE(run_job(options_for(Strategy::sync, 1, 8), body(SGD{.lr = 0.1}, &dense)));
  ASSERT_TRUE(run_job(options_for(Strategy::sync, 1, 8), body(SGD{.lr = 0.1}, &sparse)));
  EXPECT_TRUE(dense.allclose(sparse, 1e-6, 1e-7));
  EXPECT_SAYS(failure_of(options_for(Strategy::sync, 1, 8), body(Adam{}, nullptr)),
              "parameter weight has a sparse gradient");
}

TEST(Attach, FrozenParametersComeFromTheChiefAndStay) {
  for (auto strategy : {Strategy::sync, Strategy::mirrored}) {
    std::mutex mutex;
    std::vector<torch::Tensor> frozen, free;
    const auto summary = run_job(options_for(strategy, 3, 5), [&](Replica& replica) {
      nn::Sequential net(nn::Linear(3, 4), nn::Linear(4, 2));
      {
        const torch::NoGradGuard no_grad;
        for (auto& p : net->parameters()) p.fill_(static_cast<float>(replica.id() + 1) / 10);
      }
      for (auto& p : net[0]->as<nn::Linear>()->parameters()) p.set_requires_grad(false);
      auto train = replica.attach(net, SGD{.lr = 0.1});
      for (const auto& batch : replica.samples(kSamples, 4)) {
        train.backward(net->forward(inputs_of(batch, 3)).square().mean());
        train.step();
      }
      const std::lock_guard lock(mutex);
      frozen.push_back(flat(net[0]->as<nn::Linear>()->parameters()));
      free.push_back(flat(net[1]->as<nn::Linear>()->parameters()));
    });
    ASSERT_TRUE(summary) << summary.error().message;
    for (const auto& values : frozen) EXPECT_TRUE(values.equal(torch::full_like(values, 0.1f)));
    for (const auto& values : free) EXPECT_TRUE(values.equal(free.front()));
    EXPECT_FALSE(free.front().equal(torch::full_like(free.front(), 0.1f)));
  }
}

TEST(Attach, UnfreezingLaterIsRefusedByName) {
  const auto said = failure_of(options_for(Strategy::sync, 1, 8), [&](Replica& replica) {
    nn::Sequential net(nn::Linear(3, 4), nn::Linear(4, 2));
    net[0]->as<nn::Linear>()->weight.set_requires_grad(false);
    auto train = replica.attach(net, SGD{.lr = 0.1});
    for (const auto& batch : replica.samples(kSamples, 4)) {
      train.backward(net->forward(inputs_of(batch, 3)).square().mean());
      train.step();
      net[0]->as<nn::Linear>()->weight.set_requires_grad(true);
    }
  });
  EXPECT_SAYS(said, "parameter 0.weight was frozen or unfrozen after attach()");
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

TEST(Attach, OtherTypesAreRefusedByName) {
  EXPECT_SAYS(failure_of(options_for(Strategy::sync, 1, 1),
                         [](Replica& replica) {
                           nn::Linear net(3, 2);
                           net->to(torch::kDouble);
                           replica.attach(net, SGD{});
                         }),
              "parameter weight is Double, not float32");
}

TEST(Attach, ABatchWithoutAStepIsNoticed) {
  EXPECT_SAYS(failure_of(options_for(Strategy::sync, 1, 3),
                         [](Replica& replica) {
                           nn::Linear net(3, 2);
                           auto train = replica.attach(net, SGD{});
                           for (const auto& batch : replica.samples(kSamples, 4)) (void)batch;
                         }),
              "a batch went by without step()");
}

// Far more often than autograd would bear if the exception were not one it knows.
TEST(Attach, GivingUpLeavesAutogradInOrder) {
  auto options = options_for(Strategy::sync, 2, 100);
  options.spares = 1;
  options.compute_at_once = 2;
  std::uint64_t dropped = 0;
  std::atomic<int> at_work{0};  // how often replica 1 was about to go back
  const auto summary = run_job(options, [&](Replica& replica) {
    nn::Sequential net(nn::Linear(3, 4), nn::Linear(4, 2));
    auto train = replica.attach(net, SGD{.lr = 0.01});
    int steps = 0;
    for (const auto& batch : replica.samples(1'000'000, 4)) {  // no epoch ends, so both always have work
      auto loss = net->forward(inputs_of(batch, 3)).square().mean();
      if (replica.id() == 0)
        for (++steps; at_work < steps;) std::this_thread::yield();
      else
        for (++at_work; !train.lost();) std::this_thread::yield();
      train.backward(loss);
      if (train.step().dropped() && replica.id() == 1) ++dropped;
    }
    auto x = torch::ones({1}, torch::requires_grad());
    (x * x).sum().backward();  // autograd still works on this thread
    EXPECT_EQ(x.grad().item<float>(), 2);
  });
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(dropped, 100u);
  EXPECT_EQ(summary->replicas[1].applied, 0u);
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

TEST(Attach, AParameterInNoGroupStays) {
  torch::Tensor first;
  const auto summary = run_job(options_for(Strategy::mirrored, 2, 4), [&](Replica& replica) {
    nn::Sequential net(nn::Linear(3, 4), nn::Linear(4, 2));
    {
      const torch::NoGradGuard no_grad;
      for (auto& p : net->parameters()) p.fill_(0.5);
    }
    auto train = replica.attach(net, std::vector<Group>{{net[1]->as<nn::Linear>()->parameters(), Adam{.lr = 0.01}}});
    for (const auto& batch : replica.samples(kSamples, 4)) {
      train.backward(net->forward(inputs_of(batch, 3)).square().mean());
      train.step();
    }
    if (replica.chief()) first = flat(net[0]->as<nn::Linear>()->parameters());
  });
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_TRUE(first.equal(torch::full_like(first, 0.5f)));
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

TEST(Attach, OneNetworkForAllReplicasIsRefused) {
  nn::Linear net(3, 2);
  EXPECT_SAYS(failure_of(options_for(Strategy::sync, 2, 1), [&](Replica& replica) { replica.attach(net, SGD{}); }),
              "build one inside the body");
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
}  // namespace yoke
