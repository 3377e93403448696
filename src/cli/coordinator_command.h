// `yoke coordinator`: says which server hosts what, and who takes the place of one that is lost.
#pragma once

#include <CLI/CLI.hpp>

namespace yoke::cli {

void add_coordinator(CLI::App& app, int& status);

}  // namespace yoke::cli
