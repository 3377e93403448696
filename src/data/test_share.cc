#include "data/test_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/split.h"

namespace yoke::data {

Result<std::uint64_t> test_samples(std::uint64_t samples, double share) {
  if (auto good = check_share("test share", share); !good) return good.error();
  if (share == 0) return std::uint64_t{0};
  if (samples < 2) {
    return Error{
        Code::invalid_argument,
        fmt::format("of {} samples none can be held back as the test part: add more, or set the test share to 0",
                    samples)};
  }
  const auto wanted = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(samples)));
  return std::clamp<std::uint64_t>(wanted, 1, samples - 1);
}

}  // namespace yoke::data
