// Which of OpenBLAS's kernels fit which CPU.
#pragma once

#include <string_view>

namespace yoke::train {

// OpenBLAS 0.3.21 does not know recent CPUs and takes its oldest kernels for them, five times slower than need be. The
// name of those that fit this CPU, as OPENBLAS_CORETYPE takes it; null: no better ones are known.
const char* better_kernels();

// Whether the kernels (a name as openblas_get_corename gives it) are for CPUs without AVX.
bool are_old_kernels(std::string_view kernels);

}  // namespace yoke::train
