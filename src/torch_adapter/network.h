// A network, whatever it was made from: a built-in one or a TorchScript file.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "torch_adapter/binding.h"
#include "yoke/error.h"
#include "yoke/state.h"

namespace torch::jit {
struct Module;
}

namespace yoke::torch_adapter {

struct Network {
  std::vector<Named> parameters, buffers;
  std::function<torch::Tensor(const torch::Tensor&)> forward;
  std::function<void(bool)> train;  // true: as in training (dropout, batch statistics); false: as in use
};

// Takes the module over. On this device.
Network network_of(std::shared_ptr<torch::nn::Module> module,
                   std::function<torch::Tensor(const torch::Tensor&)> forward, const torch::Device& device);
Network network_of(std::shared_ptr<torch::jit::Module> module, const torch::Device& device);

// Parameters and buffers as they are now, in host memory.
State state_of(const Network& network);
// Copies what the state has for them into the network's tensors. An error names a tensor whose shape is another.
Status restore(const Network& network, const State& state);

// Starts from a state that may be another model's: every parameter must be in it, in its shape, but for those whose
// name fits one of the patterns in `skip`.
Status start_from(const Network& network, const State& state, const std::vector<std::string>& skip);

// Whether a name fits a pattern: * stands for anything, ? for one character.
bool fits(const std::string& pattern, const std::string& name);

}  // namespace yoke::torch_adapter
