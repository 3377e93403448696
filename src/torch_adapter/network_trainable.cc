// A network with its objective on a data set, as `fit` trains it; and the door by which programs without LibTorch come
// in.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/script.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "torch_adapter/binding.h"
#include "torch_adapter/device.h"
#include "torch_adapter/factory.h"
#include "torch_adapter/facts.h"
#include "torch_adapter/groups.h"
#include "torch_adapter/networks.h"
#include "torch_adapter/objective.h"
#include "torch_adapter/tensors.h"
#include "torch_adapter/threads.h"

namespace yoke::torch_adapter {
namespace {

constexpr std::uint64_t kEvaluatedAtOnce = 250;

class NetworkTrainable : public Trainable {
 public:
  NetworkTrainable(Network network, Objective objective, std::vector<Group> groups, const ModelRequest& request,
                   const torch::Device& device, bool script)
      : script_(script),
        network_(std::move(network)),
        objective_(std::move(objective)),
        data_(request.data),
        loader_(request.loader),
        device_(device),
        binding_(std::make_shared<Binding>(Parts{network_.parameters, network_.buffers, std::move(groups)},
                                           AttachOptions{}, request.options, request.replica)) {
    binding_->listen();
  }

  const Layout& layout() const override { return binding_->layout(); }
  std::span<float> values(SlotId slot) override { return binding_->place(slot); }
  std::uint64_t samples() const override { return data_->train.size(); }

  // A script may be run in other ways than one operation after the other.
  bool awaits() const override { return !script_ && binding_->can_await(); }

  void install(const Assignment& next) override {
    if (loader_ && !next.ahead.empty()) loader_->expect(next.ahead);
    binding_->install(next);
  }

  Result<StepResult> compute(std::span<const std::uint64_t> samples, Exchange& exchange) override {
    binding_->use(&exchange);
    const std::shared_ptr<void> only_now(nullptr, [this](void*) { binding_->use(nullptr); });
    auto batch = loader_->take(samples);
    if (!batch) return batch.error();
    const auto [inputs, targets] = tensors_of(std::move(*batch), data_->train.schema(), device_);
    const auto scores = network_.forward(inputs);
    if (const auto problem = objective_.mismatch(scores, inputs.size(0)); !problem.empty())
      return Error{Code::invalid_argument, problem};
    const auto loss = objective_.loss(scores, targets);
    binding_->backward(loss);
    binding_->flush();
    return StepResult{loss.item<double>(), objective_.right(scores, targets)};
  }

  Result<Evaluation> evaluate(HeldOut held_out, const std::function<bool()>& breathe) override {
    const auto& part = held_out == HeldOut::test ? data_->test : data_->validation;
    const torch::NoGradGuard no_grad;
    // Back to training however this ends, or the next gradient would be computed as in use.
    const std::shared_ptr<void> in_use((network_.train(false), nullptr), [this](void*) { network_.train(true); });
    Objective::Sums sums;
    std::vector<std::uint64_t> samples;
    for (std::uint64_t begin = 0; begin < part.size(); begin += samples.size()) {
      if (!breathe()) return Error{Code::cancelled, "the evaluation was stopped"};
      samples.resize(std::min(kEvaluatedAtOnce, part.size() - begin));
      for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = begin + i;
      auto batch = part.batch(samples);
      if (!batch) return batch.error();
      const auto [inputs, targets] = tensors_of(std::move(*batch), part.schema(), device_);
      objective_.add(network_.forward(inputs), targets, sums);
    }
    return objective_.result(sums);
  }

  State state() override { return state_of(network_); }
  Status restore(const State& state) override { return torch_adapter::restore(network_, state); }

 private:
  const bool script_;
  const Network network_;
  const Objective objective_;
  const std::shared_ptr<const data::Split> data_;
  const std::shared_ptr<data::Loader> loader_;
  const torch::Device device_;
  const std::shared_ptr<Binding> binding_;
};

// Whatever LibTorch throws, in one line.
Error in_words(const std::string& model, const std::exception& problem) {
  std::string what = problem.what();
  return {Code::invalid_argument, fmt::format("{}: {}", model, what.substr(0, what.find('\n')))};
}

const data::Schema& schema_of(const ModelRequest& request) { return request.data->train.schema(); }

// What the request's words mean here.
struct Meaning {
  torch::Device device;
  Design design;
  Objective objective;
};

Result<Meaning> meaning_of(const ModelRequest& request) {
  const auto device = device_of(request.device, request.replica);
  if (!device) return device.error();
  auto design = design_of(request.model, schema_of(request));
  if (!design) return design.error();
  auto objective = Objective::make(schema_of(request), request.data->train.normalisation(), request.loss, request.top);
  if (!objective) return objective.error();
  return Meaning{*device, std::move(*design), std::move(*objective)};
}

Result<std::unique_ptr<Trainable>> make_checked(const ModelRequest& request) {
  auto meaning = meaning_of(request);
  if (!meaning) return meaning.error();
  auto network = build_network(meaning->design, schema_of(request), meaning->device);
  if (!network) return network.error();
  if (request.init)
    if (auto started = start_from(*network, *request.init, request.init_skip); !started) return started.error();
  auto groups = groups_of(network->parameters, request.optimizer, request.freeze, request.rates);
  if (!groups) return groups.error();
  return std::unique_ptr<Trainable>(
      std::make_unique<NetworkTrainable>(std::move(*network), std::move(meaning->objective), std::move(*groups),
                                         request, meaning->device, meaning->design.kind == Design::Kind::script));
}

Result<std::unique_ptr<Trainable>> make(const ModelRequest& request) {
  use_threads(request.options.threads_per_replica);
  // LibTorch's generator of random numbers is one for the whole process: the chief draws its weights alone, so that the
  // seed says which. The others start from the chief's values.
  static std::mutex drawing;
  const std::lock_guard lock(drawing);
  if (request.replica == 0) torch::manual_seed(request.options.seed);
  try {
    return make_checked(request);
  } catch (const Exception& problem) {
    return Error{problem.code(), problem.what()};
  } catch (const std::exception& problem) {
    return in_words(request.model, problem);
  }
}

// A TorchScript module brings its own idea of what goes in and what comes out: better found out before training.
Status try_out(const Network& network, const ModelRequest& request, const Objective& objective,
               const torch::Device& device) {
  const auto& part = request.data->train;
  const std::vector<std::uint64_t> two{0, std::min<std::uint64_t>(1, part.size() - 1)};
  auto batch = part.batch(two);
  if (!batch) return batch.error();
  const torch::NoGradGuard no_grad;
  network.train(false);
  const auto scores = network.forward(tensors_of(std::move(*batch), part.schema(), device).inputs);
  if (const auto problem = objective.mismatch(scores, 2); !problem.empty())
    return Error{Code::invalid_argument, fmt::format("{}: {}", request.model, problem)};
  return {};
}

Result<ModelFacts> describe(const ModelRequest& request) {
  const auto meaning = meaning_of(request);
  if (!meaning) return meaning.error();
  const auto& [device, design, objective] = *meaning;
  ModelFacts facts{design.name(), count_parameters(design, schema_of(request)), words_for(design)};
  if (design.kind != Design::Kind::script) return facts;
  try {
    auto network = build_network(design, schema_of(request), device);
    if (!network) return network.error();
    for (const auto& named : network->parameters) facts.parameters += static_cast<std::uint64_t>(named.tensor.numel());
    if (auto tried = try_out(*network, request, objective, device); !tried) return tried.error();
  } catch (const std::exception& problem) {
    return Error{Code::invalid_argument,
                 fmt::format("{} cannot take this data, inputs of [{}]: {}", request.model,
                             fmt::join(schema_of(request).shape, ", "), in_words("it says", problem).message)};
  }
  return facts;
}

Status save_script(const ModelRequest& request, const State& state, const std::string& file) {
  const auto unfinished = file + ".unfinished";
  try {
    auto module = std::make_shared<torch::jit::Module>(torch::jit::load(request.model, torch::kCPU));
    if (auto restored = torch_adapter::restore(network_of(module, torch::kCPU), state); !restored) return restored;
    module->save(unfinished);
    std::filesystem::rename(unfinished, file);
    return {};
  } catch (const std::exception& problem) {
    std::error_code ignored;
    std::filesystem::remove(unfinished, ignored);
    return Error{Code::missing, in_words(file + " cannot be written", problem).message};
  }
}

constexpr Adapter kAdapter{make, describe, save_script, facts, flops};

}  // namespace

extern "C" const Adapter* yoke_torch_adapter();

const Adapter* yoke_torch_adapter() { return &kAdapter; }

}  // namespace yoke::torch_adapter
