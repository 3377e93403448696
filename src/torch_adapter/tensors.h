// Batches of data as tensors.
#pragma once

#include <torch/torch.h>

#include "data/dataset.h"

namespace yoke::torch_adapter {

struct Tensors {
  torch::Tensor inputs, targets;
};

// Takes the batch's memory over: nothing is copied, unless to another device.
Tensors tensors_of(data::Batch batch, const data::Schema& schema, const torch::Device& device = torch::kCPU);

}  // namespace yoke::torch_adapter
