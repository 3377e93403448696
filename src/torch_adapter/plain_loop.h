// The loop that a user of LibTorch writes without Yoke: what the benchmarks measure against.
#pragma once

#include <torch/torch.h>

#include <chrono>
#include <numeric>
#include <string>

#include "torch_adapter/networks.h"
#include "yoke/torch.h"

namespace yoke::torch_adapter {

struct Work {
  std::string model;
  std::uint32_t batch;
  std::uint64_t steps;  // a replica
  std::uint64_t warm_ups = 0;
};

inline torch::nn::Sequential network(const Work& work) {
  data::Schema schema{.shape = {1, 28, 28}, .outputs = 10};
  return sequential_of(design_of(work.model, schema).or_throw(), schema);
}

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Samples a second, after some steps that do not count.
inline double plain(const Work& work, const Examples& data) {
  auto net = network(work);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  Batch samples(work.batch);
  auto start = std::chrono::steady_clock::now();
  for (std::uint64_t step = 0; step < work.warm_ups + work.steps; ++step) {
    if (step == work.warm_ups) start = std::chrono::steady_clock::now();
    std::iota(samples.begin(), samples.end(), step * work.batch % (data.size() - work.batch));
    auto [x, y] = data.get(samples);
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(net->forward(x), y).backward();
    optimizer.step();
  }
  return static_cast<double>(work.steps * work.batch) / seconds_since(start);
}

}  // namespace yoke::torch_adapter
