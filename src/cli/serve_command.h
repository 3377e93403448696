// `yoke serve`: servers that stay, for many jobs, each in its container.
#pragma once

#include <CLI/CLI.hpp>

namespace yoke::cli {

void add_serve(CLI::App& app, int& status);

}  // namespace yoke::cli
