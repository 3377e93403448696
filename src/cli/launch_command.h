// `yoke launch`: a job as processes of this machine.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace yoke::cli {

// `typed`: the words after the command's name as they were typed, `words`: with the settings of a file put in, both
// without what follows `--`, which is `program`. All are read when the command runs.
void add_launch(CLI::App& app, const std::vector<std::string>& typed, const std::vector<std::string>& words,
                const std::vector<std::string>& program, int& status);

}  // namespace yoke::cli
