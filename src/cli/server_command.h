// `yoke server`: hosts one shard of a job's parameters.
#pragma once

#include <CLI/CLI.hpp>

namespace yoke::cli {

void add_server(CLI::App& app, const std::vector<std::string>& words, int& status);

}  // namespace yoke::cli
