#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "train/machine.h"

namespace yoke::train {
namespace {

using Clock = std::chrono::steady_clock;

struct Copied {
  double bytes = 0, seconds = 0;
};

// Each thread has a part of its own, faulted in by itself, so that it lies in the memory next to it.
Copied copy(std::size_t bytes, double seconds, std::barrier<>& together) {
  const auto from = std::make_unique_for_overwrite<char[]>(bytes), to = std::make_unique_for_overwrite<char[]>(bytes);
  std::memset(from.get(), 1, bytes);
  std::memset(to.get(), 2, bytes);
  together.arrive_and_wait();
  Copied copied;
  const auto begin = Clock::now();
  while (copied.seconds < seconds || copied.bytes == 0) {
    std::memcpy(to.get(), from.get(), bytes);
    asm volatile("" : : "r"(to.get()) : "memory");  // or the compiler sees that nobody reads it
    copied.bytes += 2 * static_cast<double>(bytes);
    copied.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  return copied;
}

}  // namespace

double copy_bandwidth(std::uint32_t threads, double seconds) {
  constexpr std::size_t kBytes = 256 << 20;
  const auto count = std::max(threads, 1U);
  std::barrier together(count);
  std::vector<Copied> copied(count);
  {
    std::vector<std::jthread> copiers;
    for (auto& mine : copied) copiers.emplace_back([&] { mine = copy(kBytes / count, seconds, together); });
  }
  double all = 0;
  for (const auto& one : copied) all += one.bytes / std::max(one.seconds, 1e-9);
  return all;
}

}  // namespace yoke::train
