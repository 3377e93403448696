// `yoke containers` and `yoke snapshot`: looking after what `yoke serve` hosts.
#pragma once

#include <CLI/CLI.hpp>

namespace yoke::cli {

void add_containers(CLI::App& app, int& status);
void add_snapshot(CLI::App& app, int& status);

}  // namespace yoke::cli
