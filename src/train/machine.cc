#include "train/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <thread>

#include "train/cgroup.h"
#include "train/huge_pages.h"
#include "train/proc_text.h"

namespace yoke::train {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto words = split_words(text);
  if (words.empty()) return {};
  return text.substr(static_cast<std::size_t>(words.front().data() - text.data()),
                     static_cast<std::size_t>(words.back().data() + words.back().size() - words.front().data()));
}

std::uint32_t cores_by_affinity() {
  cpu_set_t set;
  // Fails where the machine has more than CPU_SETSIZE cores; then they are counted as all there are.
  if (sched_getaffinity(0, sizeof set, &set) != 0) return std::max(1U, std::thread::hardware_concurrency());
  return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
}

std::optional<std::uint64_t> soft_limit(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

std::vector<std::string> malloc_settings() {
  std::vector<std::string> settings;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const bool other_malloc = text.starts_with("LD_PRELOAD=") && text.find("malloc") != std::string_view::npos;
    const bool tunables = text.starts_with("GLIBC_TUNABLES=") && !text.ends_with(std::string("=") + kHugePagesPlease);
    if (text.starts_with("MALLOC_") || tunables || other_malloc) settings.emplace_back(text);
  }
  std::sort(settings.begin(), settings.end());
  return settings;
}

}  // namespace

bool Cpu::has(std::string_view instruction) const {
  return std::find(instructions.begin(), instructions.end(), instruction) != instructions.end();
}

Cpu parse_cpuinfo(std::string_view text) {
  Cpu cpu;
  std::vector<std::string_view> flags;
  for (const auto line : split_text(text, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto key = trimmed(line.substr(0, colon)), value = line.substr(colon + 1);
    if (key == "model name" && cpu.model.empty()) cpu.model = trimmed(value);
    if ((key == "flags" || key == "Features") && flags.empty()) flags = split_words(value);
  }
  for (const char* name : {"asimd", "avx", "avx2", "fma", "avx512f", "avx512_bf16", "amx_tile"}) {
    if (std::find(flags.begin(), flags.end(), name) != flags.end()) cpu.instructions.emplace_back(name);
  }
  return cpu;
}

// Lanes, times two for multiply and add in one, times two such units a core.
double operations_per_cycle(const Cpu& cpu) {
  if (cpu.has("avx512f")) return 16 * 2 * 2;
  if (cpu.has("avx2") && cpu.has("fma")) return 8 * 2 * 2;
  if (cpu.has("avx")) return 8 * 2;
  if (cpu.has("asimd")) return 4 * 2 * 2;
  return 4 * 2;
}

std::string parse_huge_pages(std::string_view text) {
  const auto open = text.find('['), close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return "";
  return std::string(text.substr(open + 1, close - open - 1));
}

double parse_load(std::string_view text) {
  const auto words = split_words(text);
  double load = 0;
  if (!words.empty()) std::from_chars(words[0].data(), words[0].data() + words[0].size(), load);
  return load;
}

Machine read_machine(const std::string& root) {
  Machine machine;
  machine.cpu = parse_cpuinfo(read_proc(root + "/proc/cpuinfo"));
  machine.cores_there = std::max(1U, std::thread::hardware_concurrency());
  machine.quota = cgroup_cores(root);
  machine.cores = cores_by_affinity();
  // Half a core is still one thread's worth; one core and a half are not two threads' worth.
  if (machine.quota) machine.cores = std::clamp(static_cast<std::uint32_t>(*machine.quota), 1U, machine.cores);
  machine.load = parse_load(read_proc(root + "/proc/loadavg"));
  machine.memory = parse_field(read_proc(root + "/proc/meminfo"), "MemTotal").value_or(0) * 1024;
  if (const auto group = cgroup_memory(root)) machine.memory = std::min(machine.memory, group->limit);
  machine.memory_available = available_memory(root);
  struct statvfs shared {};
  if (statvfs("/dev/shm", &shared) == 0) {
    machine.shared_memory = std::uint64_t{shared.f_blocks} * shared.f_frsize;
    machine.shared_memory_free = std::uint64_t{shared.f_bavail} * shared.f_frsize;
  }
  machine.locked_memory = soft_limit(RLIMIT_MEMLOCK);
  machine.open_files = soft_limit(RLIMIT_NOFILE);
  machine.huge_pages = parse_huge_pages(read_proc(root + "/sys/kernel/mm/transparent_hugepage/enabled"));
  machine.malloc_settings = malloc_settings();
  return machine;
}

std::uint64_t available_memory(const std::string& root) {
  const auto available = parse_field(read_proc(root + "/proc/meminfo"), "MemAvailable").value_or(0) * 1024;
  const auto group = cgroup_memory(root);
  return group ? std::min(available, group->room) : available;
}

}  // namespace yoke::train
