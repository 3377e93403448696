// `yoke secret new`.
#pragma once

#include <CLI/CLI.hpp>

namespace yoke::cli {

// Adds the command to `app`. Its exit status, when it was chosen, goes to `status`, which outlives the parsing: 0; 2
// for what is no file; 3 when the file is there already or cannot be written.
void add_secret(CLI::App& app, int& status);

}  // namespace yoke::cli
