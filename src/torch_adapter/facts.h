// What this LibTorch is and has, and how fast it multiplies here.
#pragma once

#include <cstdint>

#include "torch_adapter/factory.h"

namespace yoke::torch_adapter {

// The BLAS is the one that a multiplication really ends in: several may be loaded at once.
Facts facts();

// Multiplies square matrices of 1024 floats a side with so many threads, for about so long; the best of the repeats, in
// floating-point operations a second. The number of threads stays set: nothing else may compute at the time.
double flops(std::uint32_t threads, double seconds);

// The BLAS in words, from what is known of it: the file that sgemm_ lies in with links resolved, openblas_get_config()
// or "" where no OpenBLAS is loaded, and MKL's version or "" where LibTorch was not built with it.
std::string blas_name(const std::string& sgemm_file, const std::string& openblas_config, const std::string& mkl);

}  // namespace yoke::torch_adapter
