// Runs a fuzz target where there is no libFuzzer:
//
//   NAME_fuzz MUTATIONS SEED...           every seed (files, or folders of them), then so many mutations of them
//   NAME_fuzz --only NUMBER SEED...       one mutation again
//
// Mutation NUMBER depends on the number and the seeds alone. When the target crashes the number is printed.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Only there under a sanitizer: what it calls before it ends the process.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kMaxBytes = 1 << 14;

std::string now;  // what is being run, in words

void say_what_was_run() {
  // The process is dying: if this cannot be written, nothing can be done about it.
  if (::write(STDERR_FILENO, now.data(), now.size()) < 0) std::_Exit(1);
}

void on_signal(int signal) {
  say_what_was_run();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run(const Bytes& input, const std::string& what) {
  now = "the target failed at " + what + "\n";
  // A block of its very own size, so that a sanitizer sees the first byte read behind it.
  const Bytes exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

class Mutator {
 public:
  Mutator(const std::vector<Bytes>& seeds, std::uint64_t number) : seeds_(seeds), random_(number) {}

  Bytes make() {
    Bytes bytes = any_seed();
    for (auto left = below(6) + 1; left > 0; --left) change(bytes);
    bytes.resize(std::min(bytes.size(), kMaxBytes));
    return bytes;
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }
  const Bytes& any_seed() { return seeds_[below(seeds_.size())]; }

  void change(Bytes& bytes) {
    const auto at = below(bytes.size() + 1);
    const auto rest = bytes.size() - at;
    const auto here = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(8)) {
      case 0:
        if (rest > 0) *here ^= static_cast<std::uint8_t>(1U << below(8));
        return;
      case 1:
        if (rest > 0) *here = static_cast<std::uint8_t>(below(256));
        return;
      case 2:
        return bytes.resize(at);
      case 3: {
        bytes.erase(here, here + static_cast<std::ptrdiff_t>(below(std::min<std::size_t>(rest, 16) + 1)));
        return;
      }
      case 4: {
        const Bytes copy(here, here + static_cast<std::ptrdiff_t>(below(rest + 1)));
        return insert(bytes, at, copy);
      }
      case 5: {
        const auto& other = any_seed();
        bytes.resize(at);
        return insert(bytes, at,
                      Bytes(other.begin() + static_cast<std::ptrdiff_t>(below(other.size() + 1)), other.end()));
      }
      case 6:
        return insert(bytes, at, integer());
      default: {
        const auto value = integer();
        std::copy_n(value.begin(), std::min(value.size(), rest), here);
      }
    }
  }

  static void insert(Bytes& bytes, std::size_t at, const Bytes& more) {
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
  }

  // At the edges of what integers can hold, in binary of either order or in digits.
  Bytes integer() {
    const std::uint64_t power = below(64) == 0 ? 0 : std::uint64_t{1} << below(64);
    const std::uint64_t value = power + below(3) - 1;
    if (below(2) == 0) {
      const auto digits = std::to_string(value);
      return {digits.begin(), digits.end()};
    }
    Bytes bytes;
    for (std::size_t i = 0, size = std::size_t{1} << below(4); i < size; ++i)
      bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    if (below(2) == 0) std::reverse(bytes.begin(), bytes.end());
    return bytes;
  }

  const std::vector<Bytes>& seeds_;
  std::mt19937_64 random_;
};

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const auto& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Bytes content_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "error: %s: cannot be read\n", file.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool only = !words.empty() && words[0] == "--only";
  if (only) words.erase(words.begin());
  if (words.size() < 2) {
    std::fprintf(stderr, "usage: %s [--only] NUMBER SEED...\n", argv[0]);
    return 2;
  }
  for (const int signal : {SIGILL, SIGTRAP, SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) std::signal(signal, on_signal);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(say_what_was_run);

  const std::uint64_t number = std::strtoull(words[0].c_str(), nullptr, 10);
  const auto files = files_of({words.begin() + 1, words.end()});
  std::vector<Bytes> seeds;
  for (const auto& file : files) {
    seeds.push_back(content_of(file));
    if (!only) run(seeds.back(), file);
  }
  if (seeds.empty()) {
    std::fprintf(stderr, "error: no seeds in %s\n", words[1].c_str());
    return 2;
  }
  for (std::uint64_t i = only ? number : 0; i < (only ? number + 1 : number); ++i)
    run(Mutator(seeds, i).make(), "mutation " + std::to_string(i) + ": run it again with --only " + std::to_string(i));
  std::printf("%zu seeds, %s %llu: nothing failed\n", seeds.size(), only ? "mutation" : "mutations",
              static_cast<unsigned long long>(number));
}
