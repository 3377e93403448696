#include "cluster/layout_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace yoke::cluster {

std::string difference_of_models(const Layout& first, const Layout& other) {
  if (first.slots.size() != other.slots.size())
    return fmt::format("{} parameters there, {} here", first.slots.size(), other.slots.size());
  for (std::size_t i = 0; i < first.slots.size(); ++i) {
    const auto &a = first.slots[i], &b = other.slots[i];
    if (a.name != b.name) return fmt::format("parameter {} is {} there, {} here", i, a.name, b.name);
    if (a.shape != b.shape)
      return fmt::format("{} is [{}] there, [{}] here", a.name, fmt::join(a.shape, ", "), fmt::join(b.shape, ", "));
    if (a.frozen != b.frozen) return fmt::format("{} is frozen only in one of them", a.name);
    if (a.group != b.group) return fmt::format("{} is in group {} there, {} here", a.name, a.group, b.group);
    if (a.buffer != b.buffer) return fmt::format("{} is a buffer only in one of them", a.name);
  }
  return "";
}

std::string difference(const Layout& first, const Layout& other) {
  if (auto models = difference_of_models(first, other); !models.empty()) return models;
  if (first.groups.size() != other.groups.size())
    return fmt::format("{} parameter groups there, {} here", first.groups.size(), other.groups.size());
  for (std::size_t i = 0; i < first.groups.size(); ++i)
    if (!(first.groups[i] == other.groups[i])) return fmt::format("the optimizers of parameter group {} differ", i);
  return "";
}

}  // namespace yoke::cluster
