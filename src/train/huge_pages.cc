#include "train/huge_pages.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "train/machine.h"
#include "train/proc_text.h"

namespace yoke::train {
namespace {

std::vector<std::string> words_of_this_program() {
  std::vector<std::string> words;
  std::FILE* file = std::fopen("/proc/self/cmdline", "rb");
  if (!file) return words;
  std::string word;
  for (int c; (c = std::fgetc(file)) != EOF;) {
    if (c)
      word += static_cast<char>(c);
    else
      words.push_back(std::exchange(word, {}));
  }
  std::fclose(file);
  return words;
}

}  // namespace

void start_again() {
  auto words = words_of_this_program();
  if (words.empty()) return;
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  std::error_code none;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  if (!none) execv(program.c_str(), arguments.data());  // so that it keeps its name
  execv("/proc/self/exe", arguments.data());            // its file has been replaced
}

bool ask_for_huge_pages(const std::string& root) {
#if defined(__GLIBC__)
  for (const char* word : {"GLIBC_TUNABLES", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"})
    if (std::getenv(word)) return false;
  if (getauxval(AT_SECURE) != 0) return false;  // the loader would take the words away again
  if (parse_huge_pages(read_proc(root + "/sys/kernel/mm/transparent_hugepage/enabled")) != "madvise") return false;
  return setenv("GLIBC_TUNABLES", kHugePagesPlease, 1) == 0;
#else
  return false;
#endif
}

}  // namespace yoke::train
