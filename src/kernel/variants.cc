#include "kernel/variants.h"

namespace yoke::kernel {

extern const Passes baseline;
#ifdef __x86_64__
extern const Passes avx2;
extern const Passes avx512;
#endif

std::vector<const Passes*> available_variants() {
  std::vector<const Passes*> found = {&baseline};
#ifdef __x86_64__
  // Every extension that x86-64-v3 and -v4 let the compiler use, as far as a processor without it could exist.
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v3) found.push_back(&avx2);
  if (v4) found.push_back(&avx512);
#endif
  return found;
}

const Passes& chosen_variant() {
  static const Passes& chosen = *available_variants().back();
  return chosen;
}

const char* variant() { return chosen_variant().name; }

}  // namespace yoke::kernel
