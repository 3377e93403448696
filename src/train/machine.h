// What this machine has to offer, as far as that can be known without LibTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace yoke::train {

struct Cpu {
  std::string model;                      // "Intel(R) Xeon(R) Processor @ 2.80GHz"; "" where the kernel does not say
  std::vector<std::string> instructions;  // of "asimd", "avx", "avx2", "fma", "avx512f", "avx512_bf16", "amx_tile"
  bool has(std::string_view instruction) const;
};

// From the text of /proc/cpuinfo, the first core's.
Cpu parse_cpuinfo(std::string_view text);

// Floating-point operations (float) a cycle and core that these instructions could make at best: a rough number, since
// CPUs of one instruction set differ by a factor of two.
double operations_per_cycle(const Cpu& cpu);

// "always", "madvise" or "never", from "always [madvise] never". "": cannot be told.
std::string parse_huge_pages(std::string_view text);

// The first number of /proc/loadavg; 0 where it cannot be read.
double parse_load(std::string_view text);

struct Machine {
  Cpu cpu;
  std::uint32_t cores_there = 1;  // of the machine
  std::uint32_t cores = 1;        // of those, what this process may use: its affinity, its control group's quota
  std::optional<double> quota;    // the quota, in cores, where there is one
  double load = 0;                // threads that wanted to run, on average over the last minute
  std::uint64_t memory = 0;       // bytes, the control group's limit respected
  std::uint64_t memory_available = 0;
  std::uint64_t shared_memory = 0, shared_memory_free = 0;  // of /dev/shm, bytes
  std::optional<std::uint64_t> locked_memory, open_files;   // soft limits of this process; none: unlimited
  std::string huge_pages;
  std::vector<std::string> malloc_settings;  // "MALLOC_ARENA_MAX=2": what the environment says of malloc
};

// `root` stands before /proc and /sys, for tests; limits and the environment are always this process's.
Machine read_machine(const std::string& root = "");

// Bytes that this process can still take without anybody having to swap: what the kernel calls available, and no more
// than the control groups leave. 0: cannot be told.
std::uint64_t available_memory(const std::string& root = "");

// Copies 256 MiB again and again with so many threads, for about so long; bytes read and written a second. Takes
// 512 MiB of memory for the time.
double copy_bandwidth(std::uint32_t threads, double seconds);

}  // namespace yoke::train
