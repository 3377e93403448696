// What the tests of attach() share.
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/permutation.h"
#include "yoke/torch.h"

namespace yoke::torch_adapter {

namespace F = torch::nn::functional;
namespace nn = torch::nn;

inline constexpr std::uint64_t kSamples = 64;

inline Options options_for(Strategy strategy, std::uint32_t replicas, std::uint64_t steps, std::uint32_t shards = 1) {
  Options options;
  options.strategy = strategy;
  options.replicas = replicas;
  options.steps = steps;
  options.shards = shards;
  return options;
}

inline torch::Tensor inputs_of(const Batch& samples, std::int64_t width) {
  auto x = torch::empty({static_cast<std::int64_t>(samples.size()), width});
  for (std::size_t i = 0; i < samples.size(); ++i)
    for (std::int64_t j = 0; j < width; ++j)
      x[static_cast<std::int64_t>(i)][j] =
          std::sin(static_cast<double>(samples[i] * 7 + static_cast<std::uint64_t>(j)));
  return x;
}

// The parameters of a network, as one vector.
inline torch::Tensor flat(const std::vector<torch::Tensor>& parameters) {
  std::vector<torch::Tensor> pieces;
  for (const auto& p : parameters) pieces.push_back(p.detach().flatten().clone());
  return torch::cat(pieces);
}

// Samples [step * n, (step + 1) * n) of the job's order: what n samples a step see.
inline Batch whole_batch(std::uint64_t seed, std::uint64_t step, std::uint64_t n) {
  const std::uint64_t per_epoch = kSamples / n;
  const core::Permutation order(seed, static_cast<std::uint32_t>(step / per_epoch), kSamples);
  Batch batch;
  for (std::uint64_t i = 0; i < n; ++i) batch.push_back(order(step % per_epoch * n + i));
  return batch;
}

// Runs the body in a job that is expected to fail, and returns what was said.
inline std::string failure_of(const Options& options, const std::function<void(Replica&)>& body) {
  const auto summary = run_job(options, body);
  return summary.ok() ? "it did not fail" : summary.error().message;
}

#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

}  // namespace yoke::torch_adapter
