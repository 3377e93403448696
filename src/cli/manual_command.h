// `yoke manual` and `yoke completion`.
#pragma once

#include <CLI/CLI.hpp>

namespace yoke::cli {

// Adds both commands to `app`, the root. What they show is made of `app` when they run, so that commands added later
// are in it; the version comes from its version flag. The exit status, when one of them was chosen, goes to `status`;
// both outlive the parsing.
void add_manual(CLI::App& app, int& status);

}  // namespace yoke::cli
