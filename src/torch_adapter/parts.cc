#include <torch/script.h>

#include "torch_adapter/binding.h"

namespace yoke::torch_adapter {

Parts parts_of(torch::nn::Module& network) {
  Parts parts;
  for (const auto& item : network.named_parameters()) parts.parameters.push_back({item.key(), item.value()});
  for (const auto& item : network.named_buffers()) parts.buffers.push_back({item.key(), item.value()});
  return parts;
}

Parts parts_of(torch::jit::Module& network) {
  Parts parts;
  for (const auto& item : network.named_parameters()) parts.parameters.push_back({item.name, item.value});
  for (const auto& item : network.named_buffers()) parts.buffers.push_back({item.name, item.value});
  return parts;
}

}  // namespace yoke::torch_adapter
