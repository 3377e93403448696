// What the tests of this folder share: a block with its arrays, and the optimizers to try on it.
#pragma once

#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernel/pass.h"

namespace yoke::kernel {

using Floats = std::vector<float>;

inline Floats random_floats(std::size_t size, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Floats values(size);
  for (float& value : values) value = normal(engine);
  return values;
}

// Bits, so that NaN equals itself and -0 differs from 0.
inline bool same_bits(const Floats& a, const Floats& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) return false;
  }
  return true;
}

struct Case {
  std::string name;
  Optimizer optimizer;
};

// Every optimizer, each of its options on and off.
inline std::vector<Case> cases() {
  return {{"sgd", SGD{0.1}},
          {"sgd_decay", SGD{0.1, 0, 0.01}},
          {"momentum", SGD{0.1, 0.9}},
          {"momentum_decay", SGD{0.1, 0.9, 0.01}},
          {"nesterov", SGD{0.1, 0.9, 0.01, true}},
          {"adagrad", Adagrad{0.1}},
          {"adagrad_all", Adagrad{0.1, 0.05, 0.01, 0.3, 1e-6}},
          {"rmsprop", RMSProp{}},
          {"rmsprop_momentum", RMSProp{0.01, 0.99, 1e-8, 0.01, 0.9}},
          {"rmsprop_centered", RMSProp{0.01, 0.9, 1e-8, 0, 0, true}},
          {"rmsprop_all", RMSProp{0.01, 0.9, 1e-6, 0.01, 0.9, true}},
          {"adam", Adam{}},
          {"adam_decay", Adam{0.01, 0.8, 0.99, 1e-6, 0.02}},
          {"adamw", AdamW{0.01, 0.9, 0.999, 1e-8, 0.1}},
          {"average", Average{}}};
}

// A block with its arrays, and the inputs of one update.
struct Fixture {
  Fixture(const Optimizer& o, std::size_t size, std::size_t inputs, unsigned seed = 1)
      : optimizer(o), params(random_floats(size, seed)), states(states_of(o)) {
    for (std::size_t s = 0; s < states.size(); ++s) states[s].assign(size, initial_state(o, s));
    for (std::size_t k = 0; k < inputs; ++k) {
      gradients.push_back(random_floats(size, seed + 100 + static_cast<unsigned>(k)));
    }
  }

  std::vector<Input> inputs() const {
    std::vector<Input> list;
    for (const Floats& g : gradients) {
      list.push_back({g.data(), static_cast<float>(list.size() + 1) / static_cast<float>(gradients.size() + 1)});
    }
    return list;
  }
  Block block(Fixture& out) {
    Block b = {params.size(), params.data(), out.params.data(), {}, {}};
    for (std::size_t s = 0; s < states.size(); ++s) {
      b.state_in[s] = states[s].data();
      b.state_out[s] = out.states[s].data();
    }
    return b;
  }
  bool same(const Fixture& other) const {
    for (std::size_t s = 0; s < states.size(); ++s) {
      if (!same_bits(states[s], other.states[s])) return false;
    }
    return same_bits(params, other.params);
  }

  Optimizer optimizer;
  Floats params;
  std::vector<Floats> states;
  std::vector<Floats> gradients;
};

// Around the widths of vectors and chunks.
inline const std::vector<std::size_t> kSizes = {0, 1, 7, 15, 16, 17, 100, 1023, 1024, 1025, 2047, 2048, 2049, 5000};

}  // namespace yoke::kernel
