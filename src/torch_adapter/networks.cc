#include "torch_adapter/networks.h"

#include <fmt/format.h>
#include <torch/script.h>

#include <algorithm>
#include <filesystem>

#include "torch_adapter/lstm.h"
#include "torch_adapter/resnet.h"

namespace yoke::torch_adapter {
namespace {

namespace nn = torch::nn;

nn::Sequential mlp(const std::vector<std::int64_t>& sizes) {
  nn::Sequential network{nn::Flatten()};
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    network->push_back(nn::Linear(sizes[i], sizes[i + 1]));
    if (i + 2 < sizes.size()) network->push_back(nn::ReLU());
  }
  return network;
}

// On a CPU pooling is several times faster, and the convolutions after it too, when the channels of a pixel lie
// together.
torch::Tensor pooled(const torch::Tensor& x) {
  return torch::max_pool2d(x.is_cpu() ? x.contiguous(torch::MemoryFormat::ChannelsLast) : x, 2);
}

nn::Sequential cnn(const std::vector<std::int64_t>& sizes, const data::Schema& schema) {
  auto channels = schema.shape[0], height = schema.shape[1], width = schema.shape[2];
  nn::Sequential network;
  for (const auto filters : sizes) {
    network->push_back(nn::Conv2d(nn::Conv2dOptions(channels, filters, 3).padding(1)));
    channels = filters;
    if (std::min(height, width) >= 2) {
      network->push_back(nn::Functional(pooled));
      height /= 2;
      width /= 2;
    }
    network->push_back(nn::ReLU());  // the same after pooling as before, on a quarter of the values
  }
  network->push_back(nn::Flatten());
  network->push_back(nn::Linear(channels * height * width, schema.outputs));
  return network;
}

template <class Holder>
Network taken_over(Holder module, const torch::Device& device) {
  auto* raw = module.get();  // the network keeps the module
  return network_of(
      module.ptr(), [raw](const torch::Tensor& x) { return raw->forward(x); }, device);
}

Result<Network> script(const std::string& file, const torch::Device& device) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    return Error{Code::missing, fmt::format("{} is not there: name a TorchScript file, as written in Python by "
                                            "torch.jit.script(model).save(\"model.pt\")",
                                            file)};
  try {
    // Without its optimizer gradients come one by one as the backward pass goes, and training was faster.
    torch::jit::setGraphExecutorOptimize(false);
    auto network = network_of(std::make_shared<torch::jit::Module>(torch::jit::load(file, device)), device);
    network.train(true);
    return network;
  } catch (const std::exception& problem) {
    const std::string what = problem.what();
    return Error{Code::corrupt, fmt::format("{} is no TorchScript file that this LibTorch {} reads; write it with "
                                            "torch.jit.script(model).save(...), not torch.save ({})",
                                            file, TORCH_VERSION, what.substr(0, what.find('\n')))};
  }
}

}  // namespace

nn::Sequential sequential_of(const Design& design, const data::Schema& schema) {
  return design.kind == Design::Kind::cnn ? cnn(design.sizes, schema) : mlp(design.sizes);
}

Result<Network> build_network(const Design& design, const data::Schema& schema, const torch::Device& device) {
  switch (design.kind) {
    case Design::Kind::mlp:
    case Design::Kind::cnn:
      return taken_over(sequential_of(design, schema), device);
    case Design::Kind::resnet:
      return taken_over(ResNet(schema.shape[0], design.sizes[0], design.sizes[1], schema.outputs), device);
    case Design::Kind::lstm:
      return taken_over(CharacterLSTM(schema.outputs, design.sizes[0], design.sizes[1]), device);
    case Design::Kind::script:
      break;
  }
  return script(design.file, device);
}

}  // namespace yoke::torch_adapter
