// `yoke doctor`.
#pragma once

#include <CLI/CLI.hpp>

namespace yoke::cli {

// Adds the command to `app`. Its exit status, when it was chosen, goes to `status`, which outlives the parsing: 0, or 1
// when something is wrong.
void add_doctor(CLI::App& app, int& status);

}  // namespace yoke::cli
