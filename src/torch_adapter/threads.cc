#include "torch_adapter/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

namespace yoke::torch_adapter {

void use_threads(std::uint32_t count) {
  at::set_num_threads(static_cast<int>(count));
  if (std::getenv("OPENBLAS_NUM_THREADS") || std::getenv("OMP_NUM_THREADS")) return;
  using SetThreads = void (*)(int);
  if (const auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) {
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    set(static_cast<int>(count));
  }
}

}  // namespace yoke::torch_adapter
