// Checkpoints that are damaged, in words.
#pragma once

#include <vector>

#include "checkpoint/checkpoint.h"

namespace yoke::cli {

// A line for each on standard error; of none nothing.
void say_passed_over(const std::vector<checkpoint::PassedOver>& passed_over);

}  // namespace yoke::cli
