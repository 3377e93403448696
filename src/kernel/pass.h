// The arithmetic of the servers: one pass over a block that sums what the replicas sent, runs the optimizer and writes
// the result to wherever it is wanted.
//
// A pass goes through the block in chunks that fit the first-level cache, so each array is read from memory once and
// written once; on large blocks memory is the limit, not arithmetic. Every result is a pure function of the arguments,
// bit for bit, whichever instruction set the machine has: sums run in the order given, and nothing is contracted into
// fused multiply-adds. No function here keeps state or fails, and any number of threads may call them on different
// blocks. Arrays may start anywhere; those that start on a cache line (64 bytes) are up to 1.8 times as fast inside the
// caches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "yoke/optimizer.h"

namespace yoke::kernel {

// One replica's gradient of the block.
struct Input {
  const float* values;
  float weight;
  const float* then = nullptr;  // the parameters it was computed on, for delay compensation; null: not compensated
};

struct Scalars {
  double rate = 1;           // a factor on the optimizer's learning rate, from the schedule
  double scale = 1;          // a factor on the summed gradient, from clipping
  double compensation = 0;   // lambda of delay compensation; 0: none
  std::uint64_t update = 1;  // which update of this block this is, counted from 1
  bool check = false;        // whether the summed gradient is finite is to be told
};

inline constexpr std::size_t kMaxStates = 3;

// What is updated. The in and out side of an array are either the same pointer (in place) or do not overlap (two
// versions). Only the first states_of(optimizer) states are looked at.
struct Block {
  std::size_t size;
  const float* params_in;
  float* params_out;
  std::array<const float*, kMaxStates> state_in;
  std::array<float*, kMaxStates> state_out;
};

// How many arrays of state, each as long as the block, the optimizer keeps.
std::size_t states_of(const Optimizer& optimizer);

// What every element of state `index` holds before the first update.
float initial_state(const Optimizer& optimizer, std::size_t index);

// Runs one update of the block with the gradient
//   g = scale * sum_k weight_k * (values_k + compensation * values_k^2 * (params_in - then_k))
// where the compensating term falls away for inputs without `then`. The optimizer does what torch::optim does, with
// params_out = g for Average. The new parameters also go to every array of `copies`.
//
// No inputs means that the block is carried over: parameters and states go to the out side and the parameters to the
// copies as they are.
//
// An input may be the very array that is params_out or one of the copies: an element's inputs are all read before
// anything is written for it. Arrays that overlap in any other way are not allowed.
//
// False: the sum had NaN or infinite values, as `check` has found; what was written is of no use then.
bool update(const Optimizer& optimizer, const Scalars& scalars, std::span<const Input> inputs, const Block& block,
            std::span<float* const> copies = {});

// More than this is not in any cache when it is read again; what is written past them need not be fetched first.
inline constexpr std::size_t kMoreThanCachesHold = std::size_t{4} << 20;  // floats

// Copies what is part of more than that.
void copy_past_caches(const float* from, float* to, std::size_t size);

struct Check {
  bool finite;         // no NaN and no infinity among the values
  double sum_squares;  // added in double precision, in a fixed order
};

// Looks at the values once.
Check check(std::span<const float> values);

// The sum of squares of sum_k weight_k * values_k over `size` elements: for clipping by the norm, before update. The
// sum over k is the one that update forms, without compensation.
double sum_squares_of_mean(std::span<const Input> inputs, std::size_t size);

// The instruction set in use, chosen when first needed: "avx512", "avx2" or "baseline".
const char* variant();

}  // namespace yoke::kernel
