#include "cli/diagnosis.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "train/blas_kernels.h"
#include "train/memory_plan.h"

namespace yoke::cli {
namespace {

using Mark = Finding::Mark;
using train::in_bytes;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kGiB = std::uint64_t{1} << 30;

Finding cpu(const train::Machine& machine) {
  const auto& name = machine.cpu.model;
  return {Mark::ok, "CPU",
          fmt::format("{}; {}", name.empty() ? "of unknown make" : name, fmt::join(machine.cpu.instructions, ", "))};
}

Finding cores(const train::Machine& machine) {
  auto fact = fmt::format("{} of {}", machine.cores, machine.cores_there);
  if (machine.quota) fact += fmt::format(", by a control group's quota of {:.1f}", *machine.quota);
  if (machine.cores == machine.cores_there) return {Mark::ok, "cores", fact};
  return {Mark::note, "cores", fact, "if it should have more: taskset, or the container's --cpus and --cpuset-cpus"};
}

Finding memory(const train::Machine& machine) {
  if (machine.memory_available == 0) return {Mark::note, "memory", "cannot be told: /proc/meminfo does not say", ""};
  const auto fact = fmt::format("{}, {} available", in_bytes(machine.memory), in_bytes(machine.memory_available));
  if (machine.memory_available >= kGiB) return {Mark::ok, "memory", fact};
  return {Mark::note, "memory", fact, "end other programs, or raise the container's --memory"};
}

Finding copying(const Examined& examined) {
  if (examined.copy_one == 0)
    return {Mark::note, "copying", "not measured: it takes 1 GiB of memory to try", "see memory"};
  auto fact = fmt::format("{:.1f} GB/s on one thread", examined.copy_one / 1e9);
  if (examined.copy_all > 0) fact += fmt::format(", {:.1f} on {}", examined.copy_all / 1e9, examined.machine.cores);
  return {Mark::ok, "copying", fact};
}

Finding libtorch(const Examined& examined) {
  if (examined.torch) return {Mark::ok, "LibTorch", examined.torch->libtorch};
  return {
      Mark::wrong, "LibTorch", examined.torch.error().message,
      "apt-get install libtorch-dev and build Yoke with -DYOKE_TORCH=ON; then libyoke_torch.so lies beside libyoke"};
}

Finding blas(const torch_adapter::Facts& facts, const std::string& better) {
  const auto fact = facts.kernels.empty() ? facts.blas : fmt::format("{}, kernels {}", facts.blas, facts.kernels);
  if (facts.blas.starts_with("reference BLAS") || facts.blas == "none")
    return {Mark::wrong, "BLAS", fact, "apt-get install libopenblas0-pthread"};
  if (train::are_old_kernels(facts.kernels) && !better.empty())
    return {Mark::wrong, "BLAS", fact, fmt::format("export OPENBLAS_CORETYPE={}", better)};
  return {Mark::ok, "BLAS", fact};
}

// The clock is assumed, not read: virtual machines do not say theirs.
Finding multiplying(const Examined& examined) {
  constexpr double kAssumedHertz = 2e9, kLeastShare = 0.3;
  const double peak = kAssumedHertz * train::operations_per_cycle(examined.machine.cpu);
  const double share = examined.flops_one / peak;
  auto fact = fmt::format("{:.0f} GFLOP/s on one thread ({:.0f} % of {:.0f}, a rough peak at 2 GHz)",
                          examined.flops_one / 1e9, 100 * share, peak / 1e9);
  if (examined.flops_all > 0) fact += fmt::format(", {:.0f} on {}", examined.flops_all / 1e9, examined.machine.cores);
  if (share >= kLeastShare) return {Mark::ok, "multiplying", fact};
  if (examined.machine.load >= examined.machine.cores_there)
    return {
        Mark::note, "multiplying", fact,
        fmt::format("other programs compute too (load {:.1f}): try again when they have ended", examined.machine.load)};
  return {Mark::wrong, "multiplying", fact,
          examined.better_kernels.empty() ? "see BLAS; try another"
                                          : fmt::format("see BLAS; try OPENBLAS_CORETYPE={}", examined.better_kernels)};
}

// Settings that prepare_process() leaves as they are stand in its way.
Finding malloc_of(const train::Machine& machine) {
  const auto& settings = machine.malloc_settings;
  const auto in_the_way = [](const std::string& setting) {
    return setting.starts_with("MALLOC_MMAP_THRESHOLD_=") || setting.starts_with("MALLOC_TRIM_THRESHOLD_=") ||
           setting.starts_with("GLIBC_TUNABLES=") || setting.starts_with("LD_PRELOAD=");
  };
  if (std::none_of(settings.begin(), settings.end(), in_the_way))
    return {Mark::ok, "malloc",
            settings.empty() ? "keeps large blocks" : fmt::format("keeps large blocks; {}", fmt::join(settings, ", "))};
  return {Mark::note, "malloc", fmt::format("as the environment says: {}", fmt::join(settings, ", ")),
          "unless that is meant, unset them: Yoke then keeps malloc from giving large gradients back at every step"};
}

Finding shared_memory(const train::Machine& machine) {
  const auto fact = machine.shared_memory == 0
                        ? std::string("there is no /dev/shm")
                        : fmt::format("/dev/shm has {}, {} free", in_bytes(machine.shared_memory),
                                      in_bytes(machine.shared_memory_free));
  if (machine.shared_memory_free >= kGiB) return {Mark::ok, "shared memory", fact};
  return {Mark::note, "shared memory", fact, "mount -o remount,size=4G /dev/shm; for a container --shm-size=4g"};
}

Finding limit(const std::string& what, const std::string& fact, bool enough, const char* remedy) {
  if (enough) return {Mark::ok, what, fact};
  return {Mark::note, what, fact, remedy};
}

Finding huge_pages(const train::Machine& machine) {
  if (machine.huge_pages.empty()) return {Mark::note, "huge pages", "cannot be told", ""};
  if (machine.huge_pages != "never") return {Mark::ok, "huge pages", machine.huge_pages};
  return {Mark::note, "huge pages", "never", "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
}

}  // namespace

std::vector<Finding> diagnose(const Examined& examined) {
  const auto& machine = examined.machine;
  std::vector<Finding> findings{cpu(machine), cores(machine), libtorch(examined)};
  if (examined.torch) {
    findings.push_back({Mark::ok, "devices", fmt::format("{}", fmt::join(examined.torch->devices, ", "))});
    findings.push_back(blas(*examined.torch, examined.better_kernels));
    findings.push_back(multiplying(examined));
  }
  findings.push_back(malloc_of(machine));
  findings.push_back(memory(machine));
  findings.push_back(copying(examined));
  findings.push_back(shared_memory(machine));
  const auto locked = machine.locked_memory;
  findings.push_back(limit("locked memory", locked ? in_bytes(*locked) : "unlimited", !locked || *locked >= 64 * kMiB,
                           "ulimit -l unlimited; for a container --ulimit memlock=-1"));
  const auto files = machine.open_files;
  findings.push_back(limit("open files", files ? std::to_string(*files) : "unlimited", !files || *files >= 1024,
                           "ulimit -n 4096; for a container --ulimit nofile=4096"));
  findings.push_back(huge_pages(machine));
  return findings;
}

bool is_any_wrong(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const auto& finding) { return finding.mark == Mark::wrong; });
}

}  // namespace yoke::cli
