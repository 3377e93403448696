// The built-in networks, and TorchScript files, by their names on the command line.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "data/schema.h"
#include "torch_adapter/factory.h"
#include "torch_adapter/network.h"
#include "yoke/error.h"

namespace yoke::torch_adapter {

// What a name means for data of this schema:
//
//   mlp, mlp:784-512-10     fully connected, sizes of the layers from the inputs to the outputs
//   cnn, cnn:32-64-128      3x3 convolutions with so many filters, each with pooling; then one linear layer
//   resnet, resnet:16x1     residual blocks with batch-norm: first width x blocks a stage, three stages
//   lstm, lstm:128x1        characters: an embedding, an LSTM of hidden size x layers, one linear layer
struct Design {
  enum class Kind { mlp, cnn, resnet, lstm, script };
  Kind kind = Kind::mlp;
  std::vector<std::int64_t> sizes;
  std::string file;  // script
  // Spelled out, so that it means the same network without the defaults.
  std::string name() const;
};

// Errors say which networks there are, or what this data needs.
Result<Design> design_of(const std::string& model, const data::Schema& schema);

// How many parameters the network will have, before any of them is made; of built-in networks.
std::uint64_t count_parameters(const Design& design, const data::Schema& schema);
std::string words_for(const Design& design);

// mlp and cnn: the layers one after another.
torch::nn::Sequential sequential_of(const Design& design, const data::Schema& schema);

Result<Network> build_network(const Design& design, const data::Schema& schema, const torch::Device& device);

}  // namespace yoke::torch_adapter
