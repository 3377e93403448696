#include "cli/sizes.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace yoke::cli {

Result<std::uint64_t> bytes_of(const std::string& flag, const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  std::string unit(end);
  if (unit.ends_with("iB"))
    unit.resize(unit.size() - 2);
  else if (unit.ends_with("B"))
    unit.pop_back();
  const std::string units = "KMGT";
  const auto power = unit.empty() ? 0 : units.find(unit) + 1;
  const bool known = unit.empty() || (unit.size() == 1 && power > 0);
  const double bytes = known ? number * std::pow(1024.0, static_cast<double>(power)) : -1;
  if (end == text.c_str() || !(bytes >= 1 && bytes < 1e18))
    return Error{Code::invalid_argument,
                 fmt::format("{} {}: an amount of memory is written as in 512M or 2G", flag, text)};
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace yoke::cli
