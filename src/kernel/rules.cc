#include "kernel/rules.h"

#include <cassert>
#include <cmath>

namespace yoke::kernel {
namespace {

Rule rule(const SGD& o, const Scalars& s) {
  Rule r;
  r.kind = o.momentum == 0 ? Rule::Kind::sgd : o.nesterov ? Rule::Kind::nesterov : Rule::Kind::momentum;
  r.rate = static_cast<float>(o.lr * s.rate);
  r.decay = static_cast<float>(o.weight_decay);
  r.beta1 = static_cast<float>(o.momentum);
  return r;
}

Rule rule(const Adagrad& o, const Scalars& s) {
  Rule r;
  r.kind = Rule::Kind::adagrad;
  r.rate = static_cast<float>(o.lr * s.rate / (1 + static_cast<double>(s.update - 1) * o.lr_decay));
  r.decay = static_cast<float>(o.weight_decay);
  r.eps = static_cast<float>(o.eps);
  return r;
}

Rule rule(const RMSProp& o, const Scalars& s) {
  Rule r;
  r.kind = Rule::Kind::rmsprop;
  r.centered = o.centered;
  r.has_momentum = o.momentum > 0;
  r.rate = static_cast<float>(o.lr * s.rate);
  r.decay = static_cast<float>(o.weight_decay);
  r.beta1 = static_cast<float>(o.momentum);
  r.beta2 = static_cast<float>(o.alpha);
  r.rest2 = static_cast<float>(1 - o.alpha);
  r.eps = static_cast<float>(o.eps);
  return r;
}

// What Adam and AdamW share. The moments start at zero; dividing by 1 - beta^update takes that bias out.
template <class A>
Rule adam(const A& o, const Scalars& s) {
  const auto n = static_cast<double>(s.update);
  Rule r;
  r.kind = Rule::Kind::adam;
  r.rate = static_cast<float>(o.lr * s.rate / (1 - std::pow(o.beta1, n)));
  r.beta1 = static_cast<float>(o.beta1);
  r.rest1 = static_cast<float>(1 - o.beta1);
  r.beta2 = static_cast<float>(o.beta2);
  r.rest2 = static_cast<float>(1 - o.beta2);
  r.correction = static_cast<float>(1 / std::sqrt(1 - std::pow(o.beta2, n)));
  r.eps = static_cast<float>(o.eps);
  return r;
}

Rule rule(const Adam& o, const Scalars& s) {
  Rule r = adam(o, s);
  r.decay = static_cast<float>(o.weight_decay);
  return r;
}

Rule rule(const AdamW& o, const Scalars& s) {
  Rule r = adam(o, s);
  r.keep = static_cast<float>(1 - o.lr * s.rate * o.weight_decay);
  return r;
}

Rule rule(const Average&, const Scalars&) { return {}; }

std::size_t states(const SGD& o) { return o.momentum != 0 ? 1 : 0; }
std::size_t states(const Adagrad&) { return 1; }
std::size_t states(const RMSProp& o) { return 1 + (o.centered ? 1 : 0) + (o.momentum > 0 ? 1 : 0); }
std::size_t states(const Adam&) { return 2; }
std::size_t states(const AdamW&) { return 2; }
std::size_t states(const Average&) { return 0; }

}  // namespace

Rule rule_of(const Optimizer& optimizer, const Scalars& scalars) {
  assert(scalars.update >= 1);
  Rule r = std::visit([&](const auto& o) { return rule(o, scalars); }, optimizer);
  r.scale = static_cast<float>(scalars.scale);
  return r;
}

std::size_t states_of(const Optimizer& optimizer) {
  return std::visit([](const auto& o) { return states(o); }, optimizer);
}

float initial_state(const Optimizer& optimizer, [[maybe_unused]] std::size_t index) {
  assert(index < states_of(optimizer));
  const auto* adagrad = std::get_if<Adagrad>(&optimizer);
  return adagrad != nullptr ? static_cast<float>(adagrad->initial_accumulator) : 0.0F;
}

}  // namespace yoke::kernel
