// Which of the compiled variants this machine can run. For pass.cc, and for tests that compare the variants.
#pragma once

#include <span>
#include <vector>

#include "kernel/pass.h"
#include "kernel/variants/passes.h"

namespace yoke::kernel {

// The variants this machine can run, the slowest ("baseline") first.
std::vector<const Passes*> available_variants();

// The fastest of them.
const Passes& chosen_variant();

// What pass.h offers, with the variant named.
bool update_with(const Passes& passes, const Optimizer& optimizer, const Scalars& scalars,
                 std::span<const Input> inputs, const Block& block, std::span<float* const> copies = {});
Check check_with(const Passes& passes, std::span<const float> values);
double sum_squares_of_mean_with(const Passes& passes, std::span<const Input> inputs, std::size_t size);

}  // namespace yoke::kernel
