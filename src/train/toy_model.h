// A model small enough to be checked by hand, for tests: it pulls its parameters towards the mean of the samples'
// targets. loss = 1/2 |w - target(sample)|^2, so the gradient is w - target, and every strategy has a plain loop to
// agree with.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "base/hash.h"
#include "yoke/run.h"
#include "yoke/trainable.h"

namespace yoke::train {

class ToyModel {
 public:
  explicit ToyModel(float start = 0, Optimizer optimizer = SGD{.lr = 0.1}) {
    layout_.groups = {optimizer};
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      layout_.slots.push_back({"slot" + std::to_string(i), {kSizes[i]}, 0});
      values_.emplace_back(static_cast<std::size_t>(kSizes[i]), start);
    }
  }

  const Layout& layout() const { return layout_; }
  std::vector<std::span<float>> places() { return {values_.begin(), values_.end()}; }
  std::vector<std::vector<float>>& values() { return values_; }

  static float target(std::uint64_t sample, std::size_t slot, std::size_t i) {
    return static_cast<float>(mix(mix(sample, slot), i) % 1000) / 1000.0f;
  }

  std::vector<float> gradient(std::size_t slot, const Batch& samples) const {
    std::vector<float> g(values_[slot].size());
    for (std::size_t i = 0; i < g.size(); ++i) {
      double sum = 0;
      for (auto s : samples) sum += values_[slot][i] - target(s, slot, i);
      g[i] = static_cast<float>(sum / static_cast<double>(samples.size()));
    }
    return g;
  }

  // Hands every slot's gradient to the exchange, the last slot first.
  void compute(const Batch& samples, Exchange& exchange) {
    for (std::size_t slot = values_.size(); slot-- > 0;) {
      auto g = std::make_shared<std::vector<float>>(gradient(slot, samples));
      exchange.ready(static_cast<SlotId>(slot), {*g, g}).or_throw();
    }
  }

 private:
  static constexpr std::array<std::int64_t, 3> kSizes{40'000, 7, 1};  // the first is cut into several blocks
  Layout layout_;
  std::vector<std::vector<float>> values_;
};

}  // namespace yoke::train
