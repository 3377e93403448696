// What the peers' programs share: their arguments, a clock, and the figures of a series of calls.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace peers {

[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

// What stands behind `--name`; without it the default, or, where there is none, the end.
inline std::string argument(int argc, char** argv, const char* name, const char* otherwise = nullptr) {
  for (int i = 1; i + 1 < argc; i += 2)
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  if (!otherwise) give_up(std::string("say ") + name);
  return otherwise;
}

inline long number(int argc, char** argv, const char* name, const char* otherwise = nullptr) {
  const auto text = argument(argc, argv, name, otherwise);
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end || value < 0) give_up(std::string(name) + ": " + text + " is no number");
  return value;
}

struct Figures {
  double median = 0, min = 0, mean = 0;
};

inline Figures figures_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto middle = times.size() / 2;
  const double median = times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
  return {median, times.front(), std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size())};
}

// Calls `work` that often, and `iterations` times more with a look at the clock: microseconds a call. There is nothing
// between two calls: nobody finishes a collective before all have begun it, so the calls keep the ranks together.
template <class Work>
Figures measure(long warm_ups, long iterations, Work work) {
  using Clock = std::chrono::steady_clock;
  for (long i = 0; i < warm_ups; ++i) work();
  std::vector<double> times;
  for (long i = 0; i < iterations; ++i) {
    const auto begin = Clock::now();
    work();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return figures_of(times);
}

struct Way {
  std::string name;
  Figures figures;
};

// One line of JSON: the fastest of these ways, and the median of each.
inline void print_fastest(const std::vector<Way>& ways, long iterations) {
  const auto best = std::min_element(ways.begin(), ways.end(), [](const Way& one, const Way& other) {
    return one.figures.median < other.figures.median;
  });
  std::printf("{\"median_us\":%.2f,\"min_us\":%.2f,\"mean_us\":%.2f,\"iterations\":%ld,\"way\":\"%s\",\"ways\":{",
              best->figures.median, best->figures.min, best->figures.mean, iterations, best->name.c_str());
  for (const auto& way : ways)
    std::printf("%s\"%s\":%.2f", &way == ways.data() ? "" : ",", way.name.c_str(), way.figures.median);
  std::printf("}}\n");
}

// The sum over all ranks is right in every element. Before the clock runs: afterwards the values are all 0, which stay
// 0 however often they are summed up in place.
inline float first_value(int rank, std::size_t at) { return static_cast<float>(rank + 1) + static_cast<float>(at % 7); }

inline void fill(float* values, std::size_t count, int rank) {
  for (std::size_t i = 0; i < count; ++i) values[i] = first_value(rank, i);
}

inline void check_sum(const float* values, std::size_t count, int size, const std::string& way) {
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int rank = 0; rank < size; ++rank) sum += first_value(rank, i);
    if (values[i] != sum) give_up(way + ": the sum is wrong at " + std::to_string(i));
  }
}

}  // namespace peers
