#include "cli/containers_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/display.h"
#include "train/memory_plan.h"

namespace yoke::cli {

std::string as_text(const std::vector<wire::ContainerAccount>& containers) {
  if (containers.empty()) return "there are no containers\n";
  std::string text = fmt::format("{:<24} {:>12} {:>8} {:>8}  {:<8} {:>7} {:>10}  {}\n", "container", "parameters",
                                 "step", "saved", "state", "clients", "memory", "last used");
  for (const auto& each : containers)
    text +=
        fmt::format("{:<24} {:>12} {:>8} {:>8}  {:<8} {:>7} {:>10}  {}\n", each.name, each.values, each.version,
                    each.saved ? std::to_string(*each.saved) : "-", each.running ? "training" : "idle", each.clients,
                    train::in_bytes(each.memory), each.clients ? "now" : in_time(each.idle_seconds) + " ago");
  return text;
}

std::string as_json(const std::vector<wire::ContainerAccount>& containers) {
  auto list = nlohmann::json::array();
  for (const auto& each : containers) {
    nlohmann::json entry{{"name", each.name},
                         {"parameters", each.values},
                         {"step", each.version},
                         {"state", each.running ? "training" : "idle"},
                         {"clients", each.clients},
                         {"memory_bytes", each.memory},
                         {"idle_seconds", each.idle_seconds}};
    entry["saved_step"] = each.saved ? nlohmann::json(*each.saved) : nlohmann::json();
    list.push_back(std::move(entry));
  }
  return list.dump(2) + "\n";
}

}  // namespace yoke::cli
