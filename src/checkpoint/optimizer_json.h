// Optimizers as JSON: the kind, and its fields by their names.
#pragma once

#include <string>

#include "checkpoint/strict_json.h"
#include "yoke/optimizer.h"

namespace yoke::checkpoint {

nlohmann::ordered_json optimizer_json(const Optimizer& optimizer);
// What is wrong goes to `wrong`, with `where`.
Optimizer optimizer_from(const Json& object, const std::string& where, std::string& wrong);

}  // namespace yoke::checkpoint
