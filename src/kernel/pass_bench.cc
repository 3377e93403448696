// How fast update() goes through memory, against memcpy over as many bytes in the same run. Bytes are what must move:
// each input, parameter and state read once, each parameter and state written once.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernel/pass.h"

namespace {

using yoke::Adam;
using yoke::Optimizer;
using yoke::SGD;
namespace kernel = yoke::kernel;
using Clock = std::chrono::steady_clock;

// Arrays start on a cache line.
struct alignas(64) Line {
  float values[16] = {0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F};
};
using Array = std::vector<Line>;

float* floats(Array& array) { return array.data()->values; }

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <class F>
double seconds(F&& f) {
  const auto start = Clock::now();
  f();
  benchmark::ClobberMemory();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// All arrays of the update together take up `bytes`, and so do the two of memcpy.
void run(benchmark::State& state, const Optimizer& optimizer, std::size_t inputs, std::size_t bytes, bool in_place) {
  const std::size_t states = kernel::states_of(optimizer);
  const std::size_t kept = 1 + states;
  const std::size_t arrays = inputs + (in_place ? kept : 2 * kept);
  const std::size_t size = bytes / sizeof(float) / arrays / 16 * 16;

  std::vector<Array> in(inputs, Array(size / 16));
  std::vector<Array> old(kept, Array(size / 16));
  std::vector<Array> fresh(in_place ? 0 : kept, Array(size / 16));
  auto& out = in_place ? old : fresh;
  kernel::Block block = {size, floats(old[0]), floats(out[0]), {}, {}};
  for (std::size_t s = 0; s < states; ++s) {
    block.state_in[s] = floats(old[s + 1]);
    block.state_out[s] = floats(out[s + 1]);
  }
  std::vector<kernel::Input> list;
  for (Array& values : in) list.push_back({floats(values), 1.0F / static_cast<float>(inputs)});
  const std::size_t half = bytes / 2;
  const Array from(half / sizeof(Line));
  Array to(half / sizeof(Line));

  kernel::Scalars scalars;
  std::vector<double> ours;
  std::vector<double> copying;
  // Small blocks are repeated so that both sides find their arrays in the cache.
  const int repeats = bytes < (8U << 20) ? 16 : 1;
  for (auto _ : state) {
    copying.push_back(seconds([&] {
      for (int i = 0; i < repeats; ++i) {
        std::memcpy(to.data(), from.data(), half);
        benchmark::ClobberMemory();
      }
    }));
    ours.push_back(seconds([&] {
      for (int i = 0; i < repeats; ++i, ++scalars.update) kernel::update(optimizer, scalars, list, block);
    }));
    state.SetIterationTime(ours.back());
  }
  const double moved = static_cast<double>((inputs + 2 * kept) * size * sizeof(float)) * repeats / median(ours);
  const double copied = static_cast<double>(2 * half) * repeats / median(copying);
  state.counters["GB/s"] = moved / 1e9;
  state.counters["memcpy_GB/s"] = copied / 1e9;
  state.counters["of_memcpy"] = moved / copied;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::pair<const char*, Optimizer> optimizers[] = {
      {"sgd", SGD{}}, {"sgd_momentum", SGD{0.01, 0.9}}, {"adam", Adam{}}};
  for (const auto& [name, optimizer] : optimizers) {
    for (const std::size_t mib : {64, 1}) {
      for (const bool in_place : {true, false}) {
        for (const std::size_t inputs : {1, 2, 8}) {
          const std::string title = std::string(name) + "/inputs:" + std::to_string(inputs) +
                                    "/MiB:" + std::to_string(mib) + (in_place ? "/in_place" : "/two_versions");
          benchmark::RegisterBenchmark(
              title.c_str(),
              [=, o = optimizer](benchmark::State& state) { run(state, o, inputs, mib << 20, in_place); })
              ->UseManualTime()
              ->MinTime(0.2);
        }
      }
    }
  }
  benchmark::AddCustomContext("variant", kernel::variant());
  benchmark::RunSpecifiedBenchmarks();
}
