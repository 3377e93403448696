#include "train/blas_kernels.h"

namespace yoke::train {

const char* better_kernels() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

bool are_old_kernels(std::string_view kernels) {
  for (const std::string_view old : {"Prescott", "Core2", "Generic", "Nehalem", "generic"})
    if (kernels == old) return true;
  return false;
}

}  // namespace yoke::train
