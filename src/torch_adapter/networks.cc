#include "torch_adapter/networks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

namespace yoke::torch_adapter {
namespace {

namespace nn = torch::nn;

std::int64_t elements(const std::vector<std::int64_t>& shape) {
  std::int64_t n = 1;
  for (auto d : shape) n *= d;
  return n;
}

Result<nn::Sequential> mlp(const std::string& sizes_text, std::int64_t inputs, std::int64_t classes) {
  std::vector<std::int64_t> sizes;
  for (const char* at = sizes_text.c_str(); *at;) {
    char* end = nullptr;
    sizes.push_back(std::strtoll(at, &end, 10));
    if (end == at || sizes.back() < 1 || (*end && *end != '-'))
      return Error{Code::invalid_argument,
                   fmt::format("'mlp:{}': sizes are numbers joined by '-', as in mlp:784-512-10", sizes_text)};
    at = *end ? end + 1 : end;
  }
  if (sizes.empty()) sizes = {inputs, 512, 512, classes};
  if (sizes.size() < 2 || sizes.front() != inputs || sizes.back() != classes)
    return Error{Code::invalid_argument,
                 fmt::format("'mlp:{}': this data needs mlp:{}-...-{}", sizes_text, inputs, classes)};
  nn::Sequential network{nn::Flatten()};
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    network->push_back(nn::Linear(sizes[i], sizes[i + 1]));
    if (i + 2 < sizes.size()) network->push_back(nn::ReLU());
  }
  return network;
}

Result<nn::Sequential> cnn(const std::vector<std::int64_t>& shape, std::int64_t classes) {
  if (shape.size() != 3)
    return Error{
        Code::invalid_argument,
        fmt::format("cnn needs images (channels, height, width), this data is [{}]; try mlp", fmt::join(shape, ", "))};
  auto [channels, height, width] = std::array{shape[0], shape[1], shape[2]};
  nn::Sequential network;
  for (std::int64_t filters : {32, 64, 128}) {
    network->push_back(nn::Conv2d(nn::Conv2dOptions(channels, filters, 3).padding(1)));
    channels = filters;
    if (std::min(height, width) >= 2) {
      network->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(2)));
      height /= 2;
      width /= 2;
    }
    network->push_back(nn::ReLU());  // the same after pooling as before, on a quarter of the values
  }
  network->push_back(nn::Flatten());
  network->push_back(nn::Linear(channels * height * width, classes));
  return network;
}

}  // namespace

Result<nn::Sequential> build_network(const std::string& name, const std::vector<std::int64_t>& shape,
                                     std::int64_t classes) {
  if (name == "mlp") return mlp("", elements(shape), classes);
  if (name.starts_with("mlp:")) return mlp(name.substr(4), elements(shape), classes);
  if (name == "cnn") return cnn(shape, classes);
  return Error{Code::invalid_argument,
               fmt::format("there is no model '{}'; there are cnn, mlp, mlp:784-512-10 (sizes of the layers) and "
                           "synthetic:PARAMETERS:STEP",
                           name)};
}

}  // namespace yoke::torch_adapter
