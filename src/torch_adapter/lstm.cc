#include "torch_adapter/lstm.h"

#include <algorithm>

namespace yoke::torch_adapter {
namespace {

constexpr std::int64_t kMostEmbedded = 64;

}  // namespace

CharacterLSTMImpl::CharacterLSTMImpl(std::int64_t symbols, std::int64_t hidden, std::int64_t layers)
    : embedding_(symbols, std::min(hidden, kMostEmbedded)),
      lstm_(torch::nn::LSTMOptions(std::min(hidden, kMostEmbedded), hidden).num_layers(layers).batch_first(true)),
      head_(hidden, symbols) {
  register_module("embedding", embedding_);
  register_module("lstm", lstm_);
  register_module("head", head_);
}

torch::Tensor CharacterLSTMImpl::forward(const torch::Tensor& tokens) {
  return head_(std::get<0>(lstm_->forward(embedding_(tokens))));
}

}  // namespace yoke::torch_adapter
