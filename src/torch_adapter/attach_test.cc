// What LibTorch does to parameters, hooks and gradients, and how attach() deals with it: handled, or refused by name.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "torch_adapter/attach_fixture.h"

namespace yoke::torch_adapter {
namespace {

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

TEST(Attach, OneNetworkForAllReplicasIsRefused) {
  nn::Linear net(3, 2);
  EXPECT_SAYS(failure_of(options_for(Strategy::sync, 2, 1), [&](Replica& replica) { replica.attach(net, SGD{}); }),
              "build one inside the body");
}

}  // namespace
}  // namespace yoke::torch_adapter
