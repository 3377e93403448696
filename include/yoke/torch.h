// LibTorch's side: attach a module to a replica and make steps. The only public header that includes LibTorch.
//
//   Net net;
//   auto train = replica.attach(net, yoke::Adam{.lr = 1e-3});
//   for (auto batch : replica.samples(size, 64)) {
//     auto loss = ...;
//     train.backward(loss);   // or loss.backward()
//     train.step();
//   }
//
// Gradients leave while the backward pass runs and are gone from `.grad` afterwards: there is nothing to zero, and
// clipping by norm is an option of the job. After `step` the parameters hold the new version.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "yoke/fit.h"
#include "yoke/process.h"
#include "yoke/run.h"

namespace torch::jit {
struct Module;
}

namespace yoke {

namespace torch_adapter {
class Binding;
}

// Labelled samples as tensors; read-only, shared by all replicas.
struct Examples {
  torch::Tensor inputs, labels;
  std::uint64_t size() const { return static_cast<std::uint64_t>(labels.size(0)); }
  // The inputs and labels of these samples.
  std::pair<torch::Tensor, torch::Tensor> get(const Batch& samples) const;
};

struct Data {
  Examples train, test;
};

// A data set that has a name: "digits" (comes with Yoke), "fashion-mnist" (Debian's dataset-fashion-mnist). Throws
// yoke::Exception that says what to do when it is not there.
Data load_data(const std::string& name);

// Parameters that share an optimizer and its rates. A parameter in no group is not trained.
struct Group {
  std::vector<torch::Tensor> parameters;
  Optimizer optimizer;
};

struct AttachOptions {
  std::uint32_t backwards_per_step = 1;  // gradient accumulation: so many backward passes make one gradient
  // Servers on other hosts: step() returns while values of later layers are still on their way, and the operations of
  // the forward pass wait, each for its own. What reads parameters without an operation of LibTorch (data_ptr, save)
  // between two steps may then see old ones. Not for parameters on a device, for TorchScript, for other threads than
  // the loop's, nor for networks that compute through one another.
  bool late_values = false;
};

// A network tied to the job. Lives in the replica's body, used by its thread.
class Training {
 public:
  explicit Training(std::shared_ptr<torch_adapter::Binding> binding);

  // loss.backward(), given up early when the step is already lost (the fastest replicas were others).
  void backward(const torch::Tensor& loss);
  // Hands the gradient in, waits until it is decided, and brings the parameters up to date. Throws yoke::Exception when
  // the job cannot go on, or when the network was changed in a way that cannot be followed.
  Outcome step();
  // The step is lost already: whatever is computed now will not count. For loops that have more to save than a
  // backward.
  bool lost() const;
  // Training is over; no step is left to make.
  bool done() const;

 private:
  std::shared_ptr<torch_adapter::Binding> binding_;
};

// What `Replica::attach` calls. Parameters are float32; those that need no gradient are frozen: they start from the
// chief's values and stay there.
Training attach_to(Replica& replica, torch::nn::Module& network, Optimizer optimizer, AttachOptions options = {});
Training attach_to(Replica& replica, torch::nn::Module& network, std::vector<Group> groups, AttachOptions options = {});
// An optimizer of one's own, under mirrored: Yoke brings the mean gradient into `.grad`, the optimizer takes the step.
Training attach_to(Replica& replica, torch::nn::Module& network, torch::optim::Optimizer& optimizer,
                   AttachOptions options = {});
// A TorchScript module.
Training attach_to(Replica& replica, torch::jit::Module& network, Optimizer optimizer, AttachOptions options = {});

template <class Contained, class How>
Training attach_to(Replica& replica, torch::nn::ModuleHolder<Contained>& network, How&& how,
                   AttachOptions options = {}) {
  return attach_to(replica, static_cast<torch::nn::Module&>(*network), std::forward<How>(how), options);
}

}  // namespace yoke
