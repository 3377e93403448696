#include "cli/doctor_command.h"

#include <cstdio>
#include <memory>

#include "cli/diagnosis.h"
#include "cli/load_adapter.h"
#include "train/blas_kernels.h"
#include "yoke/process.h"

namespace yoke::cli {
namespace {

constexpr double kSeconds = 0.3;  // each measurement

Examined examine() {
  prepare_process();
  const auto adapter = load_adapter();
  const char* better = train::better_kernels();
  Examined examined{.machine = train::read_machine(),
                    .better_kernels = better ? better : "",
                    .torch = adapter ? Result((*adapter)->facts()) : adapter.error()};
  const auto cores = examined.machine.cores;
  if (adapter) {
    examined.flops_one = (*adapter)->flops(1, kSeconds);
    if (cores > 1) examined.flops_all = (*adapter)->flops(cores, kSeconds);
  }
  constexpr std::uint64_t kEnough = std::uint64_t{1} << 30;  // for copies of 256 MiB, with room to spare
  if (examined.machine.memory_available >= kEnough) {
    examined.copy_one = train::copy_bandwidth(1, kSeconds);
    if (cores > 1) examined.copy_all = train::copy_bandwidth(cores, kSeconds);
  }
  return examined;
}

int doctor(bool json) {
  const auto examined = examine();
  const auto findings = diagnose(examined);
  const auto text = json ? as_json(findings, examined) : as_table(findings);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return is_any_wrong(findings) ? 1 : 0;
}

}  // namespace

void add_doctor(CLI::App& app, int& status) {
  auto json = std::make_shared<bool>(false);
  auto* command = app.add_subcommand("doctor", "Say what this machine has to offer, and what is wrong with it.");
  command->footer(
      "Takes about two seconds, and measures: other programs that compute make the numbers worse.\n"
      "Ends with 0 when nothing is WRONG, else with 1.");
  command->add_flag("--json", *json, "for programs");
  command->callback([json, &status] { status = doctor(*json); });
}

}  // namespace yoke::cli
