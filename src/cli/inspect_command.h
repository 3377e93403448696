// `yoke inspect`.
#pragma once

#include <CLI/CLI.hpp>

namespace yoke::cli {

// Adds the command to `app`. Its exit status, when it was chosen, goes to `status`, which outlives the parsing: 0, or 3
// for a file that is missing or damaged.
void add_inspect(CLI::App& app, int& status);

}  // namespace yoke::cli
