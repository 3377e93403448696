// `yoke train`.
#pragma once

#include <CLI/CLI.hpp>

namespace yoke::cli {

// Adds the command to `app`. Its exit status, when it was chosen, goes to `status`, which outlives the parsing.
void add_train(CLI::App& app, int& status);

}  // namespace yoke::cli
