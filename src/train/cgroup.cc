#include "train/cgroup.h"

#include <algorithm>

#include "train/proc_text.h"

namespace yoke::train {
namespace {

// Version 1 writes "no limit" as the largest multiple of a page.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;

std::optional<std::uint64_t> bytes_in(const std::string& file) {
  const auto bytes = parse_number(read_proc(file));
  return bytes && *bytes < kNoLimit ? bytes : std::nullopt;
}

void add_ancestors(const std::string& mount, std::string_view path, std::vector<std::string>& folders) {
  while (path.size() > 1) {
    folders.push_back(mount + std::string(path));
    path = path.substr(0, path.rfind('/'));
  }
  folders.push_back(mount);
}

std::optional<double> quota_in(const std::string& folder) {
  if (const auto both = read_proc(folder + "/cpu.max"); !both.empty()) return parse_cpu_max(both);
  // Version 1 keeps the two in files of their own, and "no limit" is -1.
  return parse_cpu_max(read_proc(folder + "/cpu.cfs_quota_us") + " " + read_proc(folder + "/cpu.cfs_period_us"));
}

std::optional<CgroupMemory> memory_in(const std::string& folder) {
  const bool second = !read_proc(folder + "/memory.current").empty();
  const auto limit = bytes_in(folder + (second ? "/memory.max" : "/memory.limit_in_bytes"));
  if (!limit) return std::nullopt;
  const auto used = bytes_in(folder + (second ? "/memory.current" : "/memory.usage_in_bytes")).value_or(0);
  const auto statistics = read_proc(folder + "/memory.stat");
  const auto cached = parse_field(statistics, second ? "inactive_file" : "total_inactive_file").value_or(0);
  const auto held = used - std::min(used, cached);
  return CgroupMemory{*limit, *limit - std::min(*limit, held)};
}

}  // namespace

std::vector<std::string> cgroup_folders(std::string_view text, std::string_view controller) {
  std::vector<std::string> folders;
  for (const auto line : split_text(text, '\n')) {
    const auto fields = split_text(line, ':');  // "4:cpu,cpuacct:/path"; version 2: "0::/path"
    if (fields.size() < 3) continue;
    const auto path = line.substr(static_cast<std::size_t>(fields[2].data() - line.data()));  // may have colons
    const auto controllers = split_text(fields[1], ',');
    if (fields[1].empty()) {
      add_ancestors("/sys/fs/cgroup", path, folders);
    } else if (std::find(controllers.begin(), controllers.end(), controller) != controllers.end()) {
      add_ancestors("/sys/fs/cgroup/" + std::string(controller), path, folders);
    }
  }
  return folders;
}

std::optional<double> parse_cpu_max(std::string_view text) {
  const auto words = split_words(text);
  if (words.size() != 2) return std::nullopt;
  const auto quota = parse_number(words[0]), period = parse_number(words[1]);
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> cgroup_cores(const std::string& root) {
  std::optional<double> least;
  for (const auto& folder : cgroup_folders(read_proc(root + "/proc/self/cgroup"), "cpu")) {
    if (const auto quota = quota_in(root + folder)) least = std::min(least.value_or(*quota), *quota);
  }
  return least;
}

std::optional<CgroupMemory> cgroup_memory(const std::string& root) {
  std::optional<CgroupMemory> least;
  for (const auto& folder : cgroup_folders(read_proc(root + "/proc/self/cgroup"), "memory")) {
    const auto here = memory_in(root + folder);
    if (!here) continue;
    if (!least) least = here;
    least = CgroupMemory{std::min(least->limit, here->limit), std::min(least->room, here->room)};
  }
  return least;
}

}  // namespace yoke::train
