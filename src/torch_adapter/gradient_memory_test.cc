// Gradients born where the servers can read them, with an exchange that keeps account of its memory.
#include "torch_adapter/gradient_memory.h"

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "torch_adapter/binding.h"

namespace yoke::torch_adapter {
namespace {

namespace nn = torch::nn;

// Memory that is told apart from any other, and used again like the real one.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (const auto& [at, size] : blocks_) std::free(at);
  }

  std::shared_ptr<std::byte> allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto& free = free_[bytes];
    if (free.empty()) {
      auto* const fresh = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
      blocks_[fresh] = bytes;
      free.push_back(fresh);
    }
    auto* const at = free.back();
    free.pop_back();
    ++out_;
    return {at, [pool = shared_from_this(), bytes](std::byte* piece) {
              const std::lock_guard inner(pool->mutex_);
              pool->free_[bytes].push_back(piece);
              --pool->out_;
            }};
  }

  bool has(const void* at) const {
    const std::lock_guard lock(mutex_);
    const auto* const byte = static_cast<const std::byte*>(at);
    const auto after = blocks_.upper_bound(const_cast<std::byte*>(byte));
    return after != blocks_.begin() && byte < std::prev(after)->first + std::prev(after)->second;
  }
  std::size_t blocks() const {
    const std::lock_guard lock(mutex_);
    return blocks_.size();
  }
  std::size_t out() const {
    const std::lock_guard lock(mutex_);
    return out_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::byte*, std::size_t> blocks_;
  std::map<std::size_t, std::vector<std::byte*>> free_;
  std::size_t out_ = 0;
};

class FakeExchange : public Exchange {
 public:
  explicit FakeExchange(bool shared) : shared_(shared) {}

  Result<Assignment> begin() override { return Assignment{}; }
  Status await(SlotId) override { return {}; }
  Status ready(SlotId slot, Payload gradient) override {
    const auto bytes = gradient.values.size_bytes();
    bytes_ += bytes;
    if (pool->has(gradient.values.data())) shared_bytes_ += bytes;
    held_[slot] = std::move(gradient);
    return {};
  }
  std::shared_ptr<std::byte> memory(std::size_t bytes) override {
    ++asked;
    return shared_ ? pool->allocate(bytes) : nullptr;
  }
  bool abandoned() const override { return false; }
  Result<Outcome> finish() override {
    held_.clear();
    return Outcome{};
  }

  // Of the gradient bytes handed in, those that lie in the pool.
  double share() const { return static_cast<double>(shared_bytes_) / static_cast<double>(bytes_); }
  std::vector<std::vector<float>> gradients() const {
    std::vector<std::vector<float>> copies;
    for (const auto& [slot, gradient] : held_) copies.emplace_back(gradient.values.begin(), gradient.values.end());
    return copies;
  }

  const std::shared_ptr<Pool> pool = std::make_shared<Pool>();
  int asked = 0;

 private:
  const bool shared_;
  std::size_t bytes_ = 0;
  std::size_t shared_bytes_ = 0;
  std::map<SlotId, Payload> held_;
};

// A network with an exchange, and steps as attach() and as fit() make them.
class Learner {
 public:
  Learner(const nn::Sequential& made, Exchange& exchange)
      : net_(made),
        exchange_(exchange),
        binding_(std::make_shared<Binding>(parts(*net_), AttachOptions{}, Options{}, 0)) {
    binding_->listen();
  }
  void step_of_attach(const torch::Tensor& x) {
    binding_->use(&exchange_);
    binding_->install({});
    loss(x).backward();
    binding_->flush();
  }
  void step_of_fit(const torch::Tensor& x) {
    binding_->use(nullptr);
    binding_->install({});
    binding_->use(&exchange_);
    binding_->backward(loss(x));
    binding_->flush();
  }

 private:
  static Parts parts(nn::Module& net) {
    auto parts = parts_of(net);
    parts.groups = {{{}, SGD{}}};
    return parts;
  }
  torch::Tensor loss(const torch::Tensor& x) { return net_->forward(x).square().mean(); }

  nn::Sequential net_;
  Exchange& exchange_;
  std::shared_ptr<Binding> binding_;
};

nn::Sequential perceptron() {
  torch::manual_seed(1);
  return nn::Sequential(nn::Linear(256, 512), nn::ReLU(), nn::Linear(512, 384), nn::Tanh(), nn::Linear(384, 10));
}

nn::Sequential convolutions() {
  torch::manual_seed(2);
  const auto same = [](std::int64_t in, std::int64_t out) { return nn::Conv2dOptions(in, out, 3).padding(1); };
  return nn::Sequential(nn::Conv2d(same(3, 32)), nn::ReLU(), nn::Conv2d(same(32, 64)), nn::ReLU(),
                        nn::Conv2d(same(64, 64)), nn::AdaptiveAvgPool2d(1), nn::Flatten(), nn::Linear(64, 128));
}

struct Case {
  const char* name;
  nn::Sequential (*network)();
  std::vector<std::int64_t> input;
};

class GradientMemoryOf : public testing::TestWithParam<Case> {
 protected:
  torch::Tensor input(std::int64_t step = 0) const {
    torch::manual_seed(static_cast<std::uint64_t>(100 + step));
    return torch::randn(GetParam().input);
  }
};

TEST_P(GradientMemoryOf, HoldsTheGradientsHoweverTheStepIsMade) {
  FakeExchange attached(true), fitted(true);
  Learner(GetParam().network(), attached).step_of_attach(input());
  Learner(GetParam().network(), fitted).step_of_fit(input());
  EXPECT_GE(attached.share(), 0.95);
  EXPECT_GE(fitted.share(), 0.95);
  RecordProperty("per_cent_attached", std::to_string(100 * attached.share()));
  RecordProperty("per_cent_fitted", std::to_string(100 * fitted.share()));
}

TEST_P(GradientMemoryOf, DoesNotChangeTheValues) {
  FakeExchange with(true), without(false);
  Learner(GetParam().network(), with).step_of_attach(input());
  Learner(GetParam().network(), without).step_of_attach(input());
  EXPECT_EQ(without.share(), 0);
  EXPECT_TRUE(with.gradients() == without.gradients());
}

TEST_P(GradientMemoryOf, IsUsedAgainStepByStep) {
  FakeExchange exchange(true);
  Learner learner(GetParam().network(), exchange);
  std::size_t blocks = 0;
  for (int step = 0; step < 50; ++step) {
    learner.step_of_attach(input(step));
    ASSERT_TRUE(exchange.finish());
    if (step == 2) blocks = exchange.pool->blocks();
  }
  EXPECT_EQ(exchange.pool->blocks(), blocks);
  EXPECT_EQ(exchange.pool->out(), 0u);
  EXPECT_GE(exchange.share(), 0.95);
}

INSTANTIATE_TEST_SUITE_P(Networks, GradientMemoryOf,
                         testing::Values(Case{"perceptron", perceptron, {32, 256}},
                                         Case{"convolutions", convolutions, {4, 3, 16, 16}}),
                         [](const auto& test) { return test.param.name; });

constexpr std::size_t kSizes[] = {8192, 65536};

void* place_of(std::size_t bytes) { return torch::empty({static_cast<std::int64_t>(bytes)}, torch::kByte).data_ptr(); }

TEST(GradientMemory, TakesOnlyTheSizesOfGradientsAndOnlyInItsThread) {
  FakeExchange exchange(true);
  EXPECT_FALSE(exchange.pool->has(place_of(8192)));
  {
    const GradientMemory on(exchange, kSizes);
    EXPECT_TRUE(exchange.pool->has(place_of(8192)));
    EXPECT_TRUE(exchange.pool->has(place_of(65536)));
    for (const std::size_t other : {0, 1, 4095, 8191, 8193, 16384, 1 << 20})
      EXPECT_FALSE(exchange.pool->has(place_of(other))) << other;
    std::thread([&] { EXPECT_FALSE(exchange.pool->has(place_of(8192))); }).join();
  }
  EXPECT_FALSE(exchange.pool->has(place_of(8192)));
}

TEST(GradientMemory, IsOffBetweenTheSteps) {
  FakeExchange exchange(true);
  Learner learner(perceptron(), exchange);
  const std::size_t weight = 256 * 512 * sizeof(float);
  learner.step_of_attach(torch::ones({4, 256}));
  EXPECT_FALSE(exchange.pool->has(place_of(weight)));
  learner.step_of_fit(torch::ones({4, 256}));
  EXPECT_FALSE(exchange.pool->has(place_of(weight)));
  EXPECT_THROW(learner.step_of_fit(torch::ones({4, 7})), c10::Error);
  EXPECT_FALSE(exchange.pool->has(place_of(weight)));
}

TEST(GradientMemory, EndsInAnyOrder) {
  FakeExchange one(true), other(true);
  std::optional<GradientMemory> first, second;
  first.emplace(one, std::span(kSizes).first(1));
  second.emplace(other, std::span(kSizes).last(1));
  EXPECT_TRUE(one.pool->has(place_of(8192)));
  EXPECT_TRUE(other.pool->has(place_of(65536)));
  first.reset();
  EXPECT_FALSE(one.pool->has(place_of(8192)));
  EXPECT_TRUE(other.pool->has(place_of(65536)));
  second.reset();
  EXPECT_FALSE(other.pool->has(place_of(65536)));
}

TEST(GradientMemory, LeavesTheAllocatorAloneWhereThereIsNone) {
  FakeExchange exchange(false);
  auto* const before = c10::GetCPUAllocator();
  Learner(perceptron(), exchange).step_of_attach(torch::ones({4, 256}));
  EXPECT_EQ(exchange.asked, 1);  // once, whether there is any
  EXPECT_EQ(c10::GetCPUAllocator(), before);
}

TEST(GradientMemory, OtherMemoryIsExactlyWhatItWas) {
  FakeExchange exchange(true);
  const GradientMemory on(exchange, kSizes);
  const auto usual = c10::GetCPUAllocator()->allocate(5000);
  EXPECT_EQ(usual.get_deleter(), c10::GetDefaultCPUAllocator()->raw_deleter());
  EXPECT_EQ(usual.get_context(), usual.get());
}

// As oneDNN does: taken and freed by a bare pointer, whoever gave it and whatever is on by then.
TEST(GradientMemory, IsFreedByABarePointerToo) {
  auto* const behind = c10::GetDefaultCPUAllocator()->raw_allocate(8192);
  FakeExchange exchange(true);
  std::optional<GradientMemory> on;
  on.emplace(exchange, kSizes);
  auto* const allocator = c10::GetCPUAllocator();
  auto* const shared = allocator->raw_allocate(8192);
  auto* const usual = allocator->raw_allocate(5000);
  EXPECT_TRUE(exchange.pool->has(shared));
  EXPECT_FALSE(exchange.pool->has(usual));
  allocator->raw_deallocate(behind);
  allocator->raw_deallocate(usual);
  on.reset();
  EXPECT_EQ(exchange.pool->out(), 1u);
  allocator->raw_deallocate(shared);
  EXPECT_EQ(exchange.pool->out(), 0u);
}

TEST(GradientMemory, ATensorMayOutliveItAndEndInAnotherThread) {
  std::weak_ptr<Pool> pool;
  torch::Tensor tensor;
  {
    FakeExchange exchange(true);
    pool = exchange.pool;
    const GradientMemory on(exchange, kSizes);
    tensor = torch::ones({2048});
    EXPECT_TRUE(exchange.pool->has(tensor.data_ptr()));
  }
  EXPECT_EQ(tensor.sum().item<float>(), 2048);
  std::thread([last = std::move(tensor)]() mutable { last.reset(); }).join();
  EXPECT_TRUE(pool.expired());
}

}  // namespace
}  // namespace yoke::torch_adapter
