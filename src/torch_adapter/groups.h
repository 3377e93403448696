// Which parameters are trained, and at which rate.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "torch_adapter/binding.h"
#include "yoke/error.h"
#include "yoke/optimizer.h"

namespace yoke::torch_adapter {

// Freezes what fits one of the patterns, and puts what fits a pattern with a rate of its own into a group of its own
// (the first that fits); the rest is one group. A pattern that fits nothing is an error that lists the names.
Result<std::vector<Group>> groups_of(const std::vector<Named>& parameters, const Optimizer& optimizer,
                                     const std::vector<std::string>& freeze,
                                     const std::vector<std::pair<std::string, double>>& rates);

}  // namespace yoke::torch_adapter
