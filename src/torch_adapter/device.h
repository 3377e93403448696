// Devices by name.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>

#include "yoke/error.h"

namespace yoke::torch_adapter {

// "cpu", "cuda:1", or "cuda": then the replicas take turns at the devices there are. One that is not there is an error
// that says what is.
Result<torch::Device> device_of(const std::string& name, std::uint32_t replica);

}  // namespace yoke::torch_adapter
