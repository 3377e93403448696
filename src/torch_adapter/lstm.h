// A recurrent network that says of every character which one follows.
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace yoke::torch_adapter {

class CharacterLSTMImpl : public torch::nn::Module {
 public:
  CharacterLSTMImpl(std::int64_t symbols, std::int64_t hidden, std::int64_t layers);
  // [samples, positions] numbers of symbols -> [samples, positions, symbols] scores. Every sample starts from zero.
  torch::Tensor forward(const torch::Tensor& tokens);

 private:
  torch::nn::Embedding embedding_;
  torch::nn::LSTM lstm_;
  torch::nn::Linear head_;
};
TORCH_MODULE(CharacterLSTM);

}  // namespace yoke::torch_adapter
