// The optimizers that servers run. The same arithmetic as torch::optim, with the same names and defaults.
#pragma once

#include <string>
#include <variant>

namespace yoke {

struct SGD {
  double lr = 0.01;
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool operator==(const SGD&) const = default;
};

struct Adagrad {
  double lr = 0.01;
  double lr_decay = 0;
  double weight_decay = 0;
  double initial_accumulator = 0;
  double eps = 1e-10;
  bool operator==(const Adagrad&) const = default;
};

struct RMSProp {
  double lr = 0.01;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
  bool operator==(const RMSProp&) const = default;
};

struct Adam {
  double lr = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool operator==(const Adam&) const = default;
};

// Adam with decoupled weight decay.
struct AdamW {
  double lr = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool operator==(const AdamW&) const = default;
};

// No step at all: the weighted mean of what the replicas sent becomes the value. For batch-norm buffers, and for
// gradients that an optimizer of the user's own will apply.
struct Average {
  bool operator==(const Average&) const = default;
};

using Optimizer = std::variant<SGD, Adagrad, RMSProp, Adam, AdamW, Average>;

}  // namespace yoke
