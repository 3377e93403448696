// `yoke status`: how a running job goes.
#pragma once

#include <CLI/CLI.hpp>

namespace yoke::cli {

void add_status(CLI::App& app, int& status);

}  // namespace yoke::cli
