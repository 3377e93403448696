#include "torch_adapter/resnet.h"

#include <string>

namespace yoke::torch_adapter {
namespace {

namespace nn = torch::nn;

nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

}  // namespace

ResNetImpl::Block::Block(std::int64_t in, std::int64_t out, std::int64_t stride)
    : first_(convolution(in, out, 3, stride)),
      second_(convolution(out, out, 3, 1)),
      first_norm_(out),
      second_norm_(out) {
  register_module("conv1", first_);
  register_module("bn1", first_norm_);
  register_module("conv2", second_);
  register_module("bn2", second_norm_);
  if (in == out) return;
  shortcut_ = register_module("shortcut", convolution(in, out, 1, stride));
  shortcut_norm_ = register_module("shortcut_bn", nn::BatchNorm2d(out));
}

torch::Tensor ResNetImpl::Block::forward(const torch::Tensor& x) {
  auto y = torch::relu(first_norm_(first_(x)));
  y = second_norm_(second_(y));
  return torch::relu(y + (shortcut_ ? shortcut_norm_(shortcut_(x)) : x));
}

ResNetImpl::ResNetImpl(std::int64_t channels, std::int64_t width, std::int64_t blocks, std::int64_t outputs)
    : stem_(convolution(channels, width, 3, 1)), stem_norm_(width) {
  register_module("stem", stem_);
  register_module("stem_bn", stem_norm_);
  auto in = width;
  for (std::int64_t stage = 0; stage < 3; ++stage)
    for (std::int64_t i = 0; i < blocks; ++i) {
      const auto out = width << stage;
      const auto name = "stage" + std::to_string(stage + 1) + "_" + std::to_string(i);
      blocks_.push_back(register_module(name, std::make_shared<Block>(in, out, stage > 0 && i == 0 ? 2 : 1)));
      in = out;
    }
  head_ = register_module("head", nn::Linear(in, outputs));
}

torch::Tensor ResNetImpl::forward(torch::Tensor x) {
  x = torch::relu(stem_norm_(stem_(x)));
  for (const auto& block : blocks_) x = block->forward(x);
  return head_(x.mean({2, 3}));
}

}  // namespace yoke::torch_adapter
