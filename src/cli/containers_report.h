// A list of containers for a person to read, or a program.
#pragma once

#include <string>
#include <vector>

#include "wire/job.h"

namespace yoke::cli {

std::string as_text(const std::vector<wire::ContainerAccount>& containers);
std::string as_json(const std::vector<wire::ContainerAccount>& containers);

}  // namespace yoke::cli
