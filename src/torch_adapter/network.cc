#include "torch_adapter/network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <torch/script.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace yoke::torch_adapter {
namespace {

std::optional<DType> dtype_of(torch::ScalarType type) {
  switch (type) {
    case torch::kDouble:
      return DType::f64;
    case torch::kFloat:
      return DType::f32;
    case torch::kHalf:
      return DType::f16;
    case torch::kBFloat16:
      return DType::bf16;
    case torch::kLong:
      return DType::i64;
    case torch::kInt:
      return DType::i32;
    case torch::kShort:
      return DType::i16;
    case torch::kChar:
      return DType::i8;
    case torch::kByte:
      return DType::u8;
    case torch::kBool:
      return DType::boolean;
    default:
      return std::nullopt;
  }
}

std::string text_of(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Status copy(const StateTensor& from, const Named& to) {
  if (from.shape != to.tensor.sizes().vec())
    return Error{Code::invalid_argument, fmt::format("{} is {} in the file and {} in the model", from.name,
                                                     text_of(from.shape), text_of(to.tensor.sizes().vec()))};
  const torch::NoGradGuard no_grad;
  if (dtype_of(to.tensor.scalar_type()) == from.type) {
    auto host = torch::empty(to.tensor.sizes(), torch::TensorOptions(to.tensor.scalar_type()));
    std::memcpy(host.data_ptr(), from.bytes.data(), from.bytes.size());
    to.tensor.copy_(host);
    return {};
  }
  auto floats = floats_of(from);
  if (!floats) return floats.error();
  to.tensor.copy_(torch::from_blob(floats->data(), to.tensor.sizes(), torch::kFloat));
  return {};
}

template <class Each>
void for_all(const Network& network, const Each& each) {
  for (const auto& named : network.parameters) each(named);
  for (const auto& named : network.buffers)
    if (named.tensor.defined()) each(named);
}

}  // namespace

Network network_of(std::shared_ptr<torch::nn::Module> module,
                   std::function<torch::Tensor(const torch::Tensor&)> forward, const torch::Device& device) {
  module->to(device);
  auto parts = parts_of(*module);
  return {std::move(parts.parameters), std::move(parts.buffers), std::move(forward),
          [module](bool on) { module->train(on); }};
}

Network network_of(std::shared_ptr<torch::jit::Module> module, const torch::Device& device) {
  module->to(device);
  auto parts = parts_of(*module);
  return {std::move(parts.parameters), std::move(parts.buffers),
          [module](const torch::Tensor& x) { return module->forward({x}).toTensor(); },
          [module](bool on) { module->train(on); }};
}

State state_of(const Network& network) {
  const torch::NoGradGuard no_grad;
  State state;
  for_all(network, [&](const Named& named) {
    const auto type = dtype_of(named.tensor.scalar_type());
    if (!type) return;
    const auto host = named.tensor.detach().cpu().contiguous();
    StateTensor tensor{named.name, *type, host.sizes().vec(), {}};
    tensor.bytes.resize(static_cast<std::size_t>(host.nbytes()));
    std::memcpy(tensor.bytes.data(), host.data_ptr(), tensor.bytes.size());
    state.tensors.push_back(std::move(tensor));
  });
  return state;
}

Status restore(const Network& network, const State& state) {
  Status status;
  for_all(network, [&](const Named& named) {
    if (const auto* tensor = state.find(named.name); tensor && status) status = copy(*tensor, named);
  });
  return status;
}

Status start_from(const Network& network, const State& state, const std::vector<std::string>& skip) {
  const auto skipped = [&](const std::string& name) {
    return std::any_of(skip.begin(), skip.end(), [&](const auto& pattern) { return fits(pattern, name); });
  };
  for (const auto& named : network.parameters) {
    if (skipped(named.name)) continue;
    const auto* tensor = state.find(named.name);
    if (!tensor)
      return Error{Code::invalid_argument,
                   fmt::format("init: the file has no tensor {} {}; let it start afresh with --init-skip '{}'",
                               named.name, text_of(named.tensor.sizes().vec()), named.name)};
    if (auto copied = copy(*tensor, named); !copied)
      return Error{Code::invalid_argument, fmt::format("init: {}; let it start afresh with --init-skip '{}'",
                                                       copied.error().message, named.name)};
  }
  for (const auto& named : network.buffers)
    if (const auto* tensor = state.find(named.name); tensor && named.tensor.defined() && !skipped(named.name))
      if (auto copied = copy(*tensor, named); !copied)
        return Error{Code::invalid_argument, "init: " + copied.error().message};
  return {};
}

bool fits(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace yoke::torch_adapter
