// A model that is no model: so many parameters, so long a step, the time slept and not computed. For measuring the
// exchange alone, and for trying strategies without data or LibTorch.
#pragma once

#include <string>

#include "base/time.h"
#include "yoke/error.h"
#include "yoke/trainable.h"

namespace yoke::train {

struct SyntheticOptions {
  std::size_t parameters = 1'000'000;
  Duration step = std::chrono::milliseconds(20);
  std::uint64_t samples = 0;  // an epoch; 0: the data has no size
  Optimizer optimizer = SGD{};
};

// Reads "synthetic:PARAMETERS:STEP", as in synthetic:1M:20ms (k, M, G; us, ms, s).
Result<SyntheticOptions> parse_synthetic(const std::string& text);

std::unique_ptr<Trainable> make_synthetic(const SyntheticOptions& options);

}  // namespace yoke::train
