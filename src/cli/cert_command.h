// `yoke cert new` and `yoke cert show`.
#pragma once

#include <CLI/CLI.hpp>

namespace yoke::cli {

// Adds the command to `app`. Its exit status, when it was chosen, goes to `status`, which outlives the parsing: 0; 2
// for a name that is none; 3 when files are there already, cannot be had, or do not hold.
void add_cert(CLI::App& app, int& status);

}  // namespace yoke::cli
