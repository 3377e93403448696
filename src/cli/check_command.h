// `yoke check`.
#pragma once

#include <CLI/CLI.hpp>

namespace yoke::cli {

// Adds the command to `app`. Its exit status, when it was chosen, goes to `status`, which outlives the parsing: 0, 3
// for a file that is missing or damaged, or 5 when a promise was broken.
void add_check(CLI::App& app, int& status);

}  // namespace yoke::cli
