#include "yoke/process.h"

#include <dlfcn.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "train/blas_kernels.h"
#include "train/huge_pages.h"

namespace yoke {
namespace {

// The kernels OpenBLAS has chosen, or "" when it is not loaded (yet).
std::string kernels_in_use() {
  using Name = char* (*)();
  const auto name = reinterpret_cast<Name>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  return name ? name() : "";
}

// Gradients are allocated and freed at every step; above these sizes malloc would give them back to the kernel each
// time, and every page would have to be faulted in again.
bool tune_malloc() {
  const char* const tunables = std::getenv("GLIBC_TUNABLES");
  if (std::getenv("MALLOC_MMAP_THRESHOLD_") || std::getenv("MALLOC_TRIM_THRESHOLD_") ||
      (tunables && std::strcmp(tunables, train::kHugePagesPlease) != 0))
    return false;
  constexpr int kLargestThatMallocTakes = 1 << 30;
  return mallopt(M_MMAP_THRESHOLD, kLargestThatMallocTakes) == 1 && mallopt(M_TRIM_THRESHOLD, 1 << 30) == 1 &&
         mallopt(M_TOP_PAD, 64 << 20) == 1;
}

}  // namespace

void prepare_process() {
  const char* const chosen = std::getenv("OPENBLAS_CORETYPE");
  const char* const better = train::better_kernels();
  const std::string now = kernels_in_use();
  const bool change = !chosen && better && (now.empty() || train::are_old_kernels(now));
  if (change) setenv("OPENBLAS_CORETYPE", better, 1);
  const bool asked = train::ask_for_huge_pages();
  if (asked || (change && !now.empty())) train::start_again();  // either is read only when it is loaded
  const bool tuned = tune_malloc();
  const char* const kernels = std::getenv("OPENBLAS_CORETYPE");
  std::fprintf(stderr, "yoke: BLAS kernels %s, malloc %s\n",
               kernels       ? kernels
               : now.empty() ? "as they are"
                             : now.c_str(),
               tuned ? "keeps large blocks" : "as the environment says");
}

}  // namespace yoke
