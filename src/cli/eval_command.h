// `yoke eval`.
#pragma once

#include <CLI/CLI.hpp>

namespace yoke::cli {

void add_eval(CLI::App& app, int& status);

}  // namespace yoke::cli
