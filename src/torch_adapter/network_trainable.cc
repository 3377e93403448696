// A built-in network with cross-entropy on a data set, as `fit` trains it.
#include <torch/torch.h>

#include <mutex>

#include "base/hash.h"
#include "torch_adapter/binding.h"
#include "torch_adapter/factory.h"
#include "torch_adapter/networks.h"
#include "torch_adapter/threads.h"

namespace yoke::torch_adapter {
namespace {

namespace F = torch::nn::functional;

class NetworkTrainable : public Trainable {
 public:
  NetworkTrainable(torch::nn::Sequential network, const ModelRequest& request)
      : network_(std::move(network)), data_(request.data) {
    Parts parts;
    for (const auto& item : network_->named_parameters()) parts.parameters.push_back({item.key(), item.value()});
    for (const auto& item : network_->named_buffers()) parts.buffers.push_back({item.key(), item.value()});
    parts.groups = {{{}, request.optimizer}};
    binding_ = std::make_shared<Binding>(std::move(parts), AttachOptions{}, request.options, request.replica);
    binding_->listen();
  }

  const Layout& layout() const override { return binding_->layout(); }
  std::span<float> values(SlotId slot) override { return binding_->place(slot); }
  std::uint64_t samples() const override { return data_->train.size(); }
  void install(const Assignment& next) override { binding_->install(next); }

  Result<StepResult> compute(std::span<const std::uint64_t> samples, Exchange& exchange) override {
    binding_->use(exchange);
    auto batch = load(data_->train, samples);
    if (!batch) return batch.error();
    const auto scores = network_->forward(batch->x);
    const auto loss = F::cross_entropy(scores, batch->y);
    binding_->backward(loss);
    binding_->flush();
    StepResult result;
    result.loss = loss.item<double>();
    result.right = static_cast<std::uint64_t>(scores.argmax(1).eq(batch->y).sum().item<std::int64_t>());
    return result;
  }

  Result<Evaluation> evaluate() override {
    const torch::NoGradGuard no_grad;
    constexpr std::uint64_t kBatch = 500;
    const auto& test = data_->test;
    Evaluation evaluation;
    std::uint64_t right = 0;
    network_->eval();
    for (std::uint64_t begin = 0; begin < test.size(); begin += kBatch) {
      std::vector<std::uint64_t> samples;
      for (auto i = begin; i < std::min(test.size(), begin + kBatch); ++i) samples.push_back(i);
      auto batch = load(test, samples);
      if (!batch) return batch.error();
      const auto scores = network_->forward(batch->x);
      evaluation.loss += F::cross_entropy(scores, batch->y).item<double>() * static_cast<double>(samples.size());
      right += static_cast<std::uint64_t>(scores.argmax(1).eq(batch->y).sum().item<std::int64_t>());
    }
    network_->train();
    evaluation.samples = test.size();
    evaluation.loss /= static_cast<double>(test.size());
    evaluation.accuracy = static_cast<double>(right) / static_cast<double>(test.size());
    return evaluation;
  }

 private:
  struct Loaded {
    torch::Tensor x, y;
  };

  Result<Loaded> load(const data::Dataset& data, std::span<const std::uint64_t> samples) const {
    std::vector<std::int64_t> shape{static_cast<std::int64_t>(samples.size())};
    shape.insert(shape.end(), data.shape.begin(), data.shape.end());
    Loaded batch{torch::empty(shape), torch::empty({shape[0]}, torch::kLong)};
    if (auto copied = data.copy(samples, batch.x.data_ptr<float>(), batch.y.data_ptr<std::int64_t>()); !copied)
      return copied.error();
    return batch;
  }

  torch::nn::Sequential network_;
  std::shared_ptr<const data::Split> data_;
  std::shared_ptr<Binding> binding_;
};

}  // namespace

extern "C" Result<std::unique_ptr<Trainable>> yoke_make_torch_trainable(const ModelRequest& request);

Result<std::unique_ptr<Trainable>> yoke_make_torch_trainable(const ModelRequest& request) {
  use_threads(request.options.threads_per_replica);
  // LibTorch's generator of random numbers is one for the whole process: the chief draws its weights alone, so that the
  // seed says which. The others start from the chief's values.
  static std::mutex drawing;
  const std::lock_guard lock(drawing);
  if (request.replica == 0) torch::manual_seed(request.options.seed);
  const auto& train = request.data->train;
  auto network = build_network(request.model, train.shape, train.classes);
  if (!network) return network.error();
  try {
    return std::unique_ptr<Trainable>(std::make_unique<NetworkTrainable>(std::move(*network), request));
  } catch (const Exception& problem) {
    return Error{problem.code(), problem.what()};
  }
}

}  // namespace yoke::torch_adapter
