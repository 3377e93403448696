// `yoke checkpoint` and `yoke drain`: what a person wants of a job that runs.
#pragma once

#include <CLI/CLI.hpp>

namespace yoke::cli {

void add_checkpoint(CLI::App& app, int& status);
void add_drain(CLI::App& app, int& status);

}  // namespace yoke::cli
