#include "yoke/process.h"

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "train/blas_kernels.h"

namespace yoke {
namespace {

// The kernels OpenBLAS has chosen, or "" when it is not loaded (yet).
std::string kernels_in_use() {
  using Name = char* (*)();
  const auto name = reinterpret_cast<Name>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  return name ? name() : "";
}

void start_again() {
  std::vector<std::string> words;
  if (std::FILE* file = std::fopen("/proc/self/cmdline", "rb")) {
    std::string word;
    for (int c; (c = std::fgetc(file)) != EOF;) {
      if (c) {
        word += static_cast<char>(c);
      } else {
        words.push_back(std::exchange(word, {}));
      }
    }
    std::fclose(file);
  }
  if (words.empty()) return;
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  execv("/proc/self/exe", arguments.data());  // returns only on failure: then we go on, only slower
}

// Gradients are allocated and freed at every step; above these sizes malloc would give them back to the kernel each
// time, and every page would have to be faulted in again.
bool tune_malloc() {
  if (std::getenv("MALLOC_MMAP_THRESHOLD_") || std::getenv("MALLOC_TRIM_THRESHOLD_") || std::getenv("GLIBC_TUNABLES"))
    return false;
  constexpr int kLargestThatMallocTakes = 32 << 20;
  return mallopt(M_MMAP_THRESHOLD, kLargestThatMallocTakes) == 1 && mallopt(M_TRIM_THRESHOLD, 1 << 30) == 1 &&
         mallopt(M_TOP_PAD, 64 << 20) == 1;
}

}  // namespace

void prepare_process() {
  const char* const chosen = std::getenv("OPENBLAS_CORETYPE");
  const char* const better = train::better_kernels();
  const std::string now = kernels_in_use();
  const bool change = !chosen && better && (now.empty() || train::are_old_kernels(now));
  if (change) {
    setenv("OPENBLAS_CORETYPE", better, 1);
    if (!now.empty()) start_again();  // it reads the environment only when it is loaded
  }
  const bool tuned = tune_malloc();
  const char* const kernels = std::getenv("OPENBLAS_CORETYPE");
  std::fprintf(stderr, "yoke: BLAS kernels %s, malloc %s\n",
               kernels       ? kernels
               : now.empty() ? "as they are"
                             : now.c_str(),
               tuned ? "keeps large blocks" : "as the environment says");
}

}  // namespace yoke
