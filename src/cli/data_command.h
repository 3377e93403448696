// `yoke data list` and `yoke data fetch`.
#pragma once

#include <CLI/CLI.hpp>

namespace yoke::cli {

// Adds the command to `app`. Its exit status, when it was chosen, goes to `status`, which outlives the parsing: 0; 2
// for a name that is none; 3 when files cannot be had or are damaged; else 1.
void add_data(CLI::App& app, int& status);

}  // namespace yoke::cli
