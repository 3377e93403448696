// The loops over one chunk, and what they are given. passes.cc is compiled once for each instruction set, so this
// header holds plain data and nothing else: an inline function here, or in anything included here, would be emitted by
// several of those compilations and the linker could keep the one that older machines cannot run.
#pragma once

#include <stddef.h>

namespace yoke::kernel {

// How one element is updated, with everything that is the same for all elements already worked out.
struct Rule {
  enum class Kind { average, sgd, momentum, nesterov, adagrad, rmsprop, adam };
  Kind kind = Kind::average;
  bool centered = false;       // rmsprop: subtract the square of the mean gradient
  bool has_momentum = false;   // rmsprop
  float scale = 1;             // on the gradient
  float rate = 0;              // the step size, all factors included
  float decay = 0;             // weight decay that is added to the gradient
  float keep = 1;              // decoupled weight decay: what the parameter is multiplied by first
  float beta1 = 0, rest1 = 0;  // of the first moment, or the momentum; rest = 1 - beta
  float beta2 = 0, rest2 = 0;  // of the second moment
  float correction = 1;        // on the root of the second moment
  float eps = 0;
};

// Elements [0, size) of every array; unused states are null.
struct Chunk {
  size_t size;
  const float* gradient;
  float weight;  // on the gradient, before the rule's scale
  const float* params_in;
  float* params_out;
  const float* state_in[3];
  float* state_out[3];
};

inline constexpr size_t kLanes = 16;

// The loops for one instruction set.
struct Passes {
  const char* name;
  // sum = weight * values
  void (*set)(float* sum, const float* values, float weight, size_t size);
  // sum += weight * values
  void (*add)(float* sum, const float* values, float weight, size_t size);
  // sum += weight * (values + lambda * values^2 * (params - then))
  void (*add_compensated)(float* sum, const float* values, float weight, const float* params, const float* then,
                          float lambda, size_t size);
  void (*step)(const Rule& rule, const Chunk& chunk);
  // No NaN and no infinity among the values.
  bool (*finite)(const float* values, size_t size);
  // Copies past the caches; `to` starts on a cache line.
  void (*stream)(float* to, const float* from, size_t size);
  // Adds the square of element i to lanes[i % kLanes].
  void (*squares)(const float* values, size_t size, double* lanes);
};

}  // namespace yoke::kernel
