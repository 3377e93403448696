// A job's account for a person to read.
#pragma once

#include <string>

#include "wire/job.h"

namespace yoke::cli {

std::string as_text(const wire::Account& account);
std::string as_json(const wire::Account& account);

}  // namespace yoke::cli
