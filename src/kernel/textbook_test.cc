// Every optimizer against a slow and obvious one in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernel/pass.h"
#include "kernel/pass_fixture.h"

namespace yoke::kernel {
namespace {

// One element, in double precision, by the textbook. s[] is in the order of Block's states.
struct Reference {
  double p;
  double g;
  double s[kMaxStates];
  double rate;
  double n;

  void step(const SGD& o) {
    g += o.weight_decay * p;
    if (o.momentum == 0) {
      p -= o.lr * rate * g;
      return;
    }
    s[0] = o.momentum * s[0] + g;
    p -= o.lr * rate * (o.nesterov ? g + o.momentum * s[0] : s[0]);
  }
  void step(const Adagrad& o) {
    g += o.weight_decay * p;
    s[0] += g * g;
    p -= o.lr * rate / (1 + (n - 1) * o.lr_decay) * g / (std::sqrt(s[0]) + o.eps);
  }
  void step(const RMSProp& o) {
    g += o.weight_decay * p;
    s[0] = o.alpha * s[0] + (1 - o.alpha) * g * g;
    double variance = s[0];
    if (o.centered) {
      s[1] = o.alpha * s[1] + (1 - o.alpha) * g;
      variance -= s[1] * s[1];
    }
    double direction = g / (std::sqrt(variance) + o.eps);
    if (o.momentum > 0) {
      double& m = s[o.centered ? 2 : 1];
      m = o.momentum * m + direction;
      direction = m;
    }
    p -= o.lr * rate * direction;
  }
  void step(const Adam& o) {
    g += o.weight_decay * p;
    moments(o);
  }
  void step(const AdamW& o) {
    p -= o.lr * rate * o.weight_decay * p;
    moments(o);
  }
  void step(const Average&) { p = g; }

  template <class A>
  void moments(const A& o) {
    s[0] = o.beta1 * s[0] + (1 - o.beta1) * g;
    s[1] = o.beta2 * s[1] + (1 - o.beta2) * g * g;
    const double m = s[0] / (1 - std::pow(o.beta1, n));
    const double v = s[1] / (1 - std::pow(o.beta2, n));
    p -= o.lr * rate * m / (std::sqrt(v) + o.eps);
  }
};

constexpr std::size_t kTextbookSize = 2100;

// Of either sign but not near zero, the same sign for every input: where a gradient all but cancels, the rules that
// divide by its size blow up what float rounds away, and the comparison would say nothing about the rule.
Floats gradient_of(unsigned update, unsigned input) {
  const Floats signs = random_floats(kTextbookSize, 10 * update);
  Floats values = random_floats(kTextbookSize, 10 * update + 1 + input);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::copysign(0.5F + std::abs(values[i]), signs[i]);
  return values;
}

TEST(Textbook, EveryOptimizerAgrees) {
  for (const auto& [name, optimizer] : cases()) {
    SCOPED_TRACE(name);
    Fixture f(optimizer, kTextbookSize, 3);
    std::vector<Reference> slow(f.params.size());
    for (std::size_t i = 0; i < slow.size(); ++i) {
      slow[i].p = f.params[i];
      for (std::size_t s = 0; s < f.states.size(); ++s) slow[i].s[s] = f.states[s][i];
    }
    for (unsigned n = 1; n <= 20; ++n) {
      for (unsigned k = 0; k < 3; ++k) f.gradients[k] = gradient_of(n, k);
      const Scalars scalars = {.rate = 1.0 / n, .scale = 0.7, .compensation = 0, .update = n};
      const auto inputs = f.inputs();
      update(optimizer, scalars, inputs, f.block(f));
      for (std::size_t i = 0; i < slow.size(); ++i) {
        slow[i].g = 0;
        for (const Input& input : inputs) slow[i].g += scalars.scale * input.weight * input.values[i];
        slow[i].rate = scalars.rate;
        slow[i].n = n;
        std::visit([&](const auto& o) { slow[i].step(o); }, optimizer);
        ASSERT_NEAR(f.params[i], slow[i].p, 2e-6 * std::max(1.0, std::abs(slow[i].p))) << i << " of update " << n;
        for (std::size_t s = 0; s < f.states.size(); ++s) {
          ASSERT_NEAR(f.states[s][i], slow[i].s[s], 1e-5 * std::max(1.0, std::abs(slow[i].s[s]))) << i << " of " << s;
        }
      }
    }
  }
}

}  // namespace
}  // namespace yoke::kernel
