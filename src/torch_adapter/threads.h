// How many threads LibTorch and its BLAS use inside one operation.
#pragma once

#include <cstdint>

namespace yoke::torch_adapter {

// For the calling thread's operations. The replicas are the parallelism: with one thread each they do not get into each
// other's way. BLAS has one number for the whole process; one that the user set in the environment stands.
void use_threads(std::uint32_t count);

}  // namespace yoke::torch_adapter
