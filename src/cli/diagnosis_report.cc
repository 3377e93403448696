#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/diagnosis.h"

namespace yoke::cli {
namespace {

using nlohmann::ordered_json;

const char* name_of(Finding::Mark mark) {
  switch (mark) {
    case Finding::Mark::ok:
      return "ok";
    case Finding::Mark::note:
      return "note";
    case Finding::Mark::wrong:
      return "WRONG";
  }
  return "";
}

ordered_json values_of(const Examined& examined) {
  const auto& machine = examined.machine;
  const auto or_null = [](const auto& value) { return value ? ordered_json(*value) : ordered_json(); };
  const auto if_measured = [](double value) { return value > 0 ? ordered_json(value) : ordered_json(); };
  ordered_json values{{"cpu", machine.cpu.model},
                      {"instructions", machine.cpu.instructions},
                      {"cores", machine.cores},
                      {"cores_there", machine.cores_there},
                      {"load", machine.load},
                      {"memory_bytes", machine.memory},
                      {"memory_available_bytes", machine.memory_available},
                      {"shared_memory_bytes", machine.shared_memory},
                      {"shared_memory_free_bytes", machine.shared_memory_free},
                      {"locked_memory_limit_bytes", or_null(machine.locked_memory)},
                      {"open_files_limit", or_null(machine.open_files)},
                      {"huge_pages", machine.huge_pages},
                      {"copy_bytes_per_second_one_thread", if_measured(examined.copy_one)},
                      {"copy_bytes_per_second_all_cores", if_measured(examined.copy_all)}};
  if (!examined.torch) return values;
  values["libtorch"] = examined.torch->libtorch;
  values["blas"] = examined.torch->blas;
  values["kernels"] = examined.torch->kernels;
  values["devices"] = examined.torch->devices;
  values["flops_one_thread"] = if_measured(examined.flops_one);
  values["flops_all_cores"] = if_measured(examined.flops_all);
  return values;
}

}  // namespace

std::string as_table(const std::vector<Finding>& findings) {
  std::size_t width = 0;
  for (const auto& finding : findings) width = std::max(width, finding.what.size());
  std::string table;
  for (const auto& finding : findings) {
    table += fmt::format("{:<7}{:<{}}  {}\n", name_of(finding.mark), finding.what, width, finding.fact);
    if (!finding.remedy.empty()) table += fmt::format("{:<{}}-> {}\n", "", 7 + width + 2, finding.remedy);
  }
  return table;
}

std::string as_json(const std::vector<Finding>& findings, const Examined& examined) {
  auto list = ordered_json::array();
  for (const auto& finding : findings) {
    ordered_json one{{"mark", name_of(finding.mark)}, {"what", finding.what}, {"fact", finding.fact}};
    if (!finding.remedy.empty()) one["remedy"] = finding.remedy;
    list.push_back(std::move(one));
  }
  const ordered_json all{{"wrong", is_any_wrong(findings)}, {"findings", list}, {"values", values_of(examined)}};
  return all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace yoke::cli
