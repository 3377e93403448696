// All-reduce in shared memory among forked processes: one line of JSON with the median time of a call.
//
//   all_reduce_bench [--processes 2] [--bytes 67108864] [--iterations 20]
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/scratch_folder.h"
#include "yoke/host_group.h"

namespace {

using Clock = std::chrono::steady_clock;

std::size_t argument(int argc, char** argv, const char* name, std::size_t otherwise) {
  for (int i = 1; i + 1 < argc; i += 2)
    if (std::strcmp(argv[i], name) == 0)
      std::from_chars(argv[i + 1], argv[i + 1] + std::strlen(argv[i + 1]), otherwise);
  return otherwise;
}

int one(const std::string& path, int rank, int size, std::size_t bytes, std::size_t iterations) {
  const auto count = bytes / sizeof(float);
  auto group = yoke::HostGroup::join(path, rank, size, count);
  if (!group) return std::fputs((group.error().message + "\n").c_str(), stderr), 1;
  const auto values = group->values();
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(rank + 1) + static_cast<float>(i % 7);
  if (const auto done = group->all_reduce(count); !done.ok())
    return std::fputs((done.error().message + "\n").c_str(), stderr), 1;
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int other = 0; other < size; ++other) sum += static_cast<float>(other + 1) + static_cast<float>(i % 7);
    if (values[i] != sum) return std::fprintf(stderr, "the sum is wrong at %zu\n", i), 1;
  }
  std::ranges::fill(values, 0.0f);  // which stays so, however often it is summed up in place
  std::vector<double> times;
  for (std::size_t i = 0; i < iterations + iterations / 5 + 1; ++i) {
    const auto begin = Clock::now();
    if (!group->all_reduce(count).ok()) return 1;
    if (i > iterations / 5) times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  if (rank > 0) return 0;
  std::ranges::sort(times);
  fmt::print("{{\"median_us\":{:.2f},\"min_us\":{:.2f},\"processes\":{},\"bytes\":{},\"iterations\":{}}}\n",
             times[times.size() / 2], times.front(), size, bytes, iterations);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto size = static_cast<int>(argument(argc, argv, "--processes", 2));
  const auto bytes = argument(argc, argv, "--bytes", 64u << 20);
  const auto iterations = std::max<std::size_t>(1, argument(argc, argv, "--iterations", 20));
  const yoke::ScratchFolder folder;
  const auto path = folder.file("group");
  for (int rank = 1; rank < size; ++rank)
    if (fork() == 0) _exit(one(path, rank, size, bytes, iterations));
  int failed = one(path, 0, size, bytes, iterations);
  for (int rank = 1; rank < size; ++rank) {
    int status = 0;
    if (wait(&status) < 0 || status != 0) failed = 1;
  }
  return failed;
}
