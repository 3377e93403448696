// The built-in networks.
#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::torch_adapter {

// "mlp", "mlp:784-512-512-10" or "cnn", for inputs of this shape and so many classes.
Result<torch::nn::Sequential> build_network(const std::string& name, const std::vector<std::int64_t>& shape,
                                            std::int64_t classes);

}  // namespace yoke::torch_adapter
