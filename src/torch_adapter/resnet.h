// A small residual network with batch-norm, for images.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

namespace yoke::torch_adapter {

// Three stages of `blocks` residual blocks; the width doubles and the image halves from stage to stage. Any image size.
class ResNetImpl : public torch::nn::Module {
 public:
  ResNetImpl(std::int64_t channels, std::int64_t width, std::int64_t blocks, std::int64_t outputs);
  torch::Tensor forward(torch::Tensor x);

 private:
  // x + f(x); where the sizes change, x goes through a 1x1 convolution.
  class Block : public torch::nn::Module {
   public:
    Block(std::int64_t in, std::int64_t out, std::int64_t stride);
    torch::Tensor forward(const torch::Tensor& x);

   private:
    torch::nn::Conv2d first_, second_;
    torch::nn::BatchNorm2d first_norm_, second_norm_;
    torch::nn::Conv2d shortcut_{nullptr};
    torch::nn::BatchNorm2d shortcut_norm_{nullptr};
  };

  torch::nn::Conv2d stem_;
  torch::nn::BatchNorm2d stem_norm_;
  std::vector<std::shared_ptr<Block>> blocks_;
  torch::nn::Linear head_{nullptr};
};
TORCH_MODULE(ResNet);

}  // namespace yoke::torch_adapter
