#include "torch_adapter/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "torch_adapter/network.h"

namespace yoke::torch_adapter {
namespace {

Error fits_nothing(const char* flag, const std::string& pattern, const std::vector<Named>& parameters) {
  std::string names;
  for (const auto& named : parameters) names += (names.empty() ? "" : ", ") + named.name;
  return {Code::invalid_argument,
          fmt::format("{} '{}' fits no parameter; there are {} (* stands for anything)", flag, pattern, names)};
}

Optimizer with_rate(Optimizer optimizer, double rate) {
  std::visit(
      [rate](auto& rule) {
        if constexpr (requires { rule.lr; }) rule.lr = rate;
      },
      optimizer);
  return optimizer;
}

}  // namespace

Result<std::vector<Group>> groups_of(const std::vector<Named>& parameters, const Optimizer& optimizer,
                                     const std::vector<std::string>& freeze,
                                     const std::vector<std::pair<std::string, double>>& rates) {
  for (const auto& pattern : freeze) {
    bool any = false;
    for (const auto& named : parameters)
      if (fits(pattern, named.name)) {
        auto tensor = named.tensor;  // shares what is frozen
        tensor.set_requires_grad(false);
        any = true;
      }
    if (!any) return fits_nothing("--freeze", pattern, parameters);
  }
  if (std::none_of(parameters.begin(), parameters.end(),
                   [](const auto& named) { return named.tensor.requires_grad(); }))
    return Error{Code::invalid_argument, "--freeze leaves no parameter to train: freeze fewer of them"};
  std::vector<Group> groups{{{}, optimizer}};
  for (const auto& [pattern, rate] : rates) groups.push_back({{}, with_rate(optimizer, rate)});
  std::vector<bool> used(rates.size());
  for (const auto& named : parameters) {
    std::size_t group = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (!fits(rates[i].first, named.name)) continue;
      used[i] = true;
      if (group == 0) group = i + 1;
    }
    groups[group].parameters.push_back(named.tensor);
  }
  for (std::size_t i = 0; i < rates.size(); ++i)
    if (!used[i]) return fits_nothing("--lr-of", rates[i].first, parameters);
  std::erase_if(groups, [](const Group& group) { return group.parameters.empty(); });
  return groups;
}

}  // namespace yoke::torch_adapter
