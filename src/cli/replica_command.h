// `yoke replica`: one replica of a job of many processes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace yoke::cli {

void add_replica(CLI::App& app, const std::vector<std::string>& words, int& status);

}  // namespace yoke::cli
