#include "cli/passed_over.h"

#include <fmt/format.h>

#include <cstdio>

namespace yoke::cli {

void say_passed_over(const std::vector<checkpoint::PassedOver>& passed_over) {
  for (const auto& one : passed_over) fmt::print(stderr, "{}; the checkpoint before it is used\n", one.why);
}

}  // namespace yoke::cli
