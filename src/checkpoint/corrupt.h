// What is wrong with what was read.
#pragma once

#include <string>
#include <utility>

#include "yoke/error.h"

namespace yoke::checkpoint {

inline Error corrupt(std::string why) { return {Code::corrupt, std::move(why)}; }

}  // namespace yoke::checkpoint
