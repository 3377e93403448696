// What the control groups that this process is in leave it of the machine: version 1 and version 2, inside a container
// and outside.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace yoke::train {

// The folders whose limits hold for a process, its own group first, then the groups around it up to the mount; `text`
// is its /proc/self/cgroup, `controller` "cpu" or "memory". In a container the inner ones may not exist.
std::vector<std::string> cgroup_folders(std::string_view text, std::string_view controller);

// Cores a second: version 2's cpu.max ("150000 100000", "max 100000"). None: no limit, or not readable as one.
std::optional<double> parse_cpu_max(std::string_view text);

// The smallest quota in force, in cores. `root` stands before every path, so that tests can bring a /proc and a /sys of
// their own; empty: this machine's.
std::optional<double> cgroup_cores(const std::string& root = "");

struct CgroupMemory {
  std::uint64_t limit = 0;  // bytes
  std::uint64_t room = 0;   // bytes until it is reached; cached files that can be dropped count as room
};

// The tightest limit in force, and the smallest room under any. None: no limit.
std::optional<CgroupMemory> cgroup_memory(const std::string& root = "");

}  // namespace yoke::train
