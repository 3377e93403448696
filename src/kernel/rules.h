// From an optimizer's options to the numbers its loop needs.
#pragma once

#include "kernel/pass.h"
#include "kernel/variants/passes.h"

namespace yoke::kernel {

// Worked out in double precision and rounded to float once, as torch::optim does. scalars.update is at least 1.
Rule rule_of(const Optimizer& optimizer, const Scalars& scalars);

}  // namespace yoke::kernel
