// Compiled once for each instruction set, with YOKE_VARIANT its name; see variants.cmake for the flags.
//
// Plain loops that the compiler vectorises. `omp simd` says that no iteration depends on another, which holds even when
// the in and out side are one array; restrict would be a lie there, and without either the compiler falls back to
// scalar code exactly when updating in place. Each line rounds once for every operation, in the order torch::optim has
// them.
#include "kernel/variants/passes.h"

#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace yoke::kernel {
namespace {

void set(float* sum, const float* values, float weight, size_t size) {
#pragma omp simd
  for (size_t i = 0; i < size; ++i) sum[i] = weight * values[i];
}

void add(float* sum, const float* values, float weight, size_t size) {
#pragma omp simd
  for (size_t i = 0; i < size; ++i) sum[i] = sum[i] + weight * values[i];
}

void add_compensated(float* sum, const float* values, float weight, const float* params, const float* then,
                     float lambda, size_t size) {
#pragma omp simd
  for (size_t i = 0; i < size; ++i) {
    const float g = values[i];
    sum[i] = sum[i] + weight * (g + lambda * g * g * (params[i] - then[i]));
  }
}

// The gradient of element i, weight decay included; p is its parameter.
inline float gradient(const Rule& r, const Chunk& c, size_t i, float p) {
  return r.scale * (c.weight * c.gradient[i]) + r.decay * p;
}

void average(const Rule& r, const Chunk& c) {
#pragma omp simd
  for (size_t i = 0; i < c.size; ++i) c.params_out[i] = r.scale * (c.weight * c.gradient[i]);
}

void sgd(const Rule& r, const Chunk& c) {
#pragma omp simd
  for (size_t i = 0; i < c.size; ++i) {
    const float p = c.params_in[i];
    c.params_out[i] = p - r.rate * gradient(r, c, i, p);
  }
}

template <bool nesterov>
void momentum(const Rule& r, const Chunk& c) {
#pragma omp simd
  for (size_t i = 0; i < c.size; ++i) {
    const float p = c.params_in[i];
    const float g = gradient(r, c, i, p);
    const float m = r.beta1 * c.state_in[0][i] + g;
    c.state_out[0][i] = m;
    c.params_out[i] = p - r.rate * (nesterov ? g + r.beta1 * m : m);
  }
}

void adagrad(const Rule& r, const Chunk& c) {
#pragma omp simd
  for (size_t i = 0; i < c.size; ++i) {
    const float p = c.params_in[i];
    const float g = gradient(r, c, i, p);
    const float v = c.state_in[0][i] + g * g;
    c.state_out[0][i] = v;
    c.params_out[i] = p - r.rate * g / (__builtin_sqrtf(v) + r.eps);
  }
}

template <bool centered, bool with_momentum>
void rmsprop(const Rule& r, const Chunk& c) {
#pragma omp simd
  for (size_t i = 0; i < c.size; ++i) {
    const float p = c.params_in[i];
    const float g = gradient(r, c, i, p);
    const float v = r.beta2 * c.state_in[0][i] + r.rest2 * g * g;
    c.state_out[0][i] = v;
    float variance = v;
    if constexpr (centered) {
      const float mean = r.beta2 * c.state_in[1][i] + r.rest2 * g;
      c.state_out[1][i] = mean;
      variance = v - mean * mean;
    }
    const float root = __builtin_sqrtf(variance) + r.eps;
    if constexpr (with_momentum) {
      constexpr int kMomentum = centered ? 2 : 1;
      const float m = r.beta1 * c.state_in[kMomentum][i] + g / root;
      c.state_out[kMomentum][i] = m;
      c.params_out[i] = p - r.rate * m;
    } else {
      c.params_out[i] = p - r.rate * g / root;
    }
  }
}

void adam(const Rule& r, const Chunk& c) {
#pragma omp simd
  for (size_t i = 0; i < c.size; ++i) {
    const float p = c.params_in[i];
    const float g = gradient(r, c, i, p);
    const float m = r.beta1 * c.state_in[0][i] + r.rest1 * g;
    const float v = r.beta2 * c.state_in[1][i] + r.rest2 * g * g;
    c.state_out[0][i] = m;
    c.state_out[1][i] = v;
    c.params_out[i] = r.keep * p - r.rate * m / (__builtin_sqrtf(v) * r.correction + r.eps);
  }
}

// Takes copies: the loops' stores are to floats, and so could otherwise change the floats in the rule.
void step(const Rule& rule, const Chunk& chunk) {
  const Rule r = rule;
  const Chunk c = chunk;
  switch (r.kind) {
    case Rule::Kind::average:
      return average(r, c);
    case Rule::Kind::sgd:
      return sgd(r, c);
    case Rule::Kind::momentum:
      return momentum<false>(r, c);
    case Rule::Kind::nesterov:
      return momentum<true>(r, c);
    case Rule::Kind::adagrad:
      return adagrad(r, c);
    case Rule::Kind::adam:
      return adam(r, c);
    case Rule::Kind::rmsprop:
      if (r.centered) return r.has_momentum ? rmsprop<true, true>(r, c) : rmsprop<true, false>(r, c);
      return r.has_momentum ? rmsprop<false, true>(r, c) : rmsprop<false, false>(r, c);
  }
}

bool finite(const float* values, size_t size) {
  constexpr unsigned kSign = 0x80000000, kInfinity = 0x7f800000;
  unsigned largest = 0;
#pragma omp simd reduction(max : largest)
  for (size_t i = 0; i < size; ++i) {
    const unsigned magnitude = __builtin_bit_cast(unsigned, values[i]) & ~kSign;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest < kInfinity;
}

void stream(float* to, const float* from, size_t size) {
  size_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= size; i += 16) _mm512_stream_ps(to + i, _mm512_loadu_ps(from + i));
#elif defined(__AVX2__)
  for (; i + 8 <= size; i += 8) _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
#elif defined(__SSE__)
  for (; i + 4 <= size; i += 4) _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
#endif
  for (; i < size; ++i) to[i] = from[i];
}

void squares(const float* values, size_t size, double* lanes) {
  double sums[kLanes];
  for (size_t j = 0; j < kLanes; ++j) sums[j] = lanes[j];
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
#pragma omp simd
    for (size_t j = 0; j < kLanes; ++j) {
      const double value = values[i + j];
      sums[j] += value * value;
    }
  }
  for (size_t j = 0; i < size; ++i, ++j) sums[j] += static_cast<double>(values[i]) * values[i];
  for (size_t j = 0; j < kLanes; ++j) lanes[j] = sums[j];
}

#define YOKE_TEXT(name) #name
#define YOKE_NAME(name) YOKE_TEXT(name)

}  // namespace

extern const Passes YOKE_VARIANT;
constinit const Passes YOKE_VARIANT = {
    YOKE_NAME(YOKE_VARIANT), &set, &add, &add_compensated, &step, &finite, &stream, &squares};

}  // namespace yoke::kernel
