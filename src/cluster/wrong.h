// What somebody should not have said.
#pragma once

#include <string>
#include <utility>

#include "yoke/error.h"

namespace yoke::cluster {

inline Error wrong(std::string what) { return {Code::corrupt, std::move(what)}; }

}  // namespace yoke::cluster
