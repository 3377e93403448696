#include "torch_adapter/device.h"

#include <fmt/format.h>

namespace yoke::torch_adapter {

Result<torch::Device> device_of(const std::string& name, std::uint32_t replica) {
  if (name == "cpu") return torch::Device(torch::kCPU);
  const auto count = static_cast<std::uint32_t>(torch::cuda::device_count());
  const std::string there = count ? fmt::format("cpu, cuda:0{}", count > 1 ? fmt::format(" to cuda:{}", count - 1) : "")
                                  : "cpu alone (this LibTorch sees no CUDA device)";
  const Error wrong{Code::unsupported, fmt::format("there is no device '{}' here; there is {}", name, there)};
  if (!name.starts_with("cuda") || count == 0) return wrong;
  if (name == "cuda") return torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(replica % count));
  try {
    const torch::Device device(name);
    if (device.index() < 0 || static_cast<std::uint32_t>(device.index()) >= count) return wrong;
    return device;
  } catch (const std::exception&) {
    return wrong;
  }
}

}  // namespace yoke::torch_adapter
