#include "kernel/pass.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernel/rules.h"
#include "kernel/variants.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace yoke::kernel {
namespace {

// Small enough that the sum stays in the first-level cache while the other arrays stream by, large enough that the
// hardware's prefetching of each array gets going.
constexpr std::size_t kChunk = 2048;

void copy(const float* from, float* to, std::size_t size) {
  if (from != to) std::memcpy(to, from, size * sizeof(float));
}

void carry_over(const Block& block, std::size_t states, std::span<float* const> copies) {
  for (float* to : copies) copy(block.params_in, to, block.size);
  copy(block.params_in, block.params_out, block.size);
  for (std::size_t s = 0; s < states; ++s) copy(block.state_in[s], block.state_out[s], block.size);
}

// sum = the weighted sum of elements [at, at + size) of the inputs; `params` belongs to element `at`, and is only read
// where an input is compensated.
void sum_inputs(const Passes& passes, std::span<const Input> inputs, std::size_t at, std::size_t size,
                const float* params, float lambda, float* sum) {
  const auto compensated = [&](const Input& input) { return input.then != nullptr && lambda != 0; };
  std::size_t k = 0;
  if (inputs.empty() || compensated(inputs[0])) {
    std::fill_n(sum, size, 0.0F);
  } else {
    passes.set(sum, inputs[0].values + at, inputs[0].weight, size);
    k = 1;
  }
  for (; k < inputs.size(); ++k) {
    const Input& input = inputs[k];
    if (compensated(input)) {
      passes.add_compensated(sum, input.values + at, input.weight, params, input.then + at, lambda, size);
    } else {
      passes.add(sum, input.values + at, input.weight, size);
    }
  }
}

Chunk chunk_of(const Block& block, std::size_t states, std::size_t at, std::size_t size) {
  Chunk chunk = {size, nullptr, 1, block.params_in + at, block.params_out + at, {}, {}};
  for (std::size_t s = 0; s < states; ++s) {
    chunk.state_in[s] = block.state_in[s] + at;
    chunk.state_out[s] = block.state_out[s] + at;
  }
  return chunk;
}

double total(const std::array<double, kLanes>& lanes) {
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

bool update_with(const Passes& passes, const Optimizer& optimizer, const Scalars& scalars,
                 std::span<const Input> inputs, const Block& block, std::span<float* const> copies) {
  const std::size_t states = states_of(optimizer);
  if (block.size == 0) return true;
  if (inputs.empty()) {
    carry_over(block, states, copies);
    return true;
  }

  const Rule rule = rule_of(optimizer, scalars);
  const auto lambda = static_cast<float>(scalars.compensation);
  // A single array needs no sum: the optimizer's loop reads it where it lies, with the same roundings.
  const bool single = inputs.size() == 1 && (inputs[0].then == nullptr || lambda == 0);
  alignas(64) std::array<float, kChunk> sum;
  for (std::size_t at = 0; at < block.size; at += kChunk) {
    Chunk chunk = chunk_of(block, states, at, std::min(kChunk, block.size - at));
    if (single) {
      chunk.gradient = inputs[0].values + at;
      chunk.weight = inputs[0].weight;
    } else {
      sum_inputs(passes, inputs, at, chunk.size, chunk.params_in, lambda, sum.data());
      chunk.gradient = sum.data();
    }
    if (scalars.check && !passes.finite(chunk.gradient, chunk.size)) return false;
    passes.step(rule, chunk);
    for (float* to : copies) copy(chunk.params_out, to + at, chunk.size);
  }
  return true;
}

Check check_with(const Passes& passes, std::span<const float> values) {
  std::array<double, kLanes> lanes = {};
  passes.squares(values.data(), values.size(), lanes.data());
  // The square of a finite float is below 2^256, so no sum of them can leave the range of a double: the sum is finite
  // exactly if every value is.
  const double sum = total(lanes);
  return {std::isfinite(sum), sum};
}

double sum_squares_of_mean_with(const Passes& passes, std::span<const Input> inputs, std::size_t size) {
  static_assert(kChunk % kLanes == 0, "a lane must go on where the chunk before left it");
  std::array<double, kLanes> lanes = {};
  alignas(64) std::array<float, kChunk> sum;
  for (std::size_t at = 0; at < size; at += kChunk) {
    const std::size_t count = std::min(kChunk, size - at);
    sum_inputs(passes, inputs, at, count, nullptr, 0, sum.data());
    passes.squares(sum.data(), count, lanes.data());
  }
  return total(lanes);
}

bool update(const Optimizer& optimizer, const Scalars& scalars, std::span<const Input> inputs, const Block& block,
            std::span<float* const> copies) {
  return update_with(chosen_variant(), optimizer, scalars, inputs, block, copies);
}

void copy_past_caches(const float* from, float* to, std::size_t size) {
  const auto skew = reinterpret_cast<std::uintptr_t>(to) % 64 / sizeof(float);
  const auto head = std::min(size, skew == 0 ? 0 : 64 / sizeof(float) - skew);
  std::memcpy(to, from, head * sizeof(float));
  chosen_variant().stream(to + head, from + head, size - head);
#if defined(__SSE__)
  _mm_sfence();  // it is there before anything that follows
#endif
}

Check check(std::span<const float> values) { return check_with(chosen_variant(), values); }

double sum_squares_of_mean(std::span<const Input> inputs, std::size_t size) {
  return sum_squares_of_mean_with(chosen_variant(), inputs, size);
}

}  // namespace yoke::kernel
