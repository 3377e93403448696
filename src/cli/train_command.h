// `yoke train`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace yoke::cli {

// Adds the command to `app`. Its exit status, when it was chosen, goes to `status`; `words` are those after the
// command's name as they were typed, `settled` the same with the settings of a file put in. All outlive the parsing.
void add_train(CLI::App& app, const std::vector<std::string>& words, const std::vector<std::string>& settled,
               int& status);

}  // namespace yoke::cli
