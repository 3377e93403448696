// Settings of a command in a file: the same names as its flags, in TOML.
//
//     [how]                # tables only group
//     strategy = "sync"
//     replicas = 8
//     deterministic = true
//     image = ["a.png", "b.png"]   # an option that may be given several times
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::cli {

// `arguments` are the words after the command's name. Where they have `--config FILE`, those words are taken out and
// the file's settings are put in front as flags, all but those whose flag stands among the arguments in any of its
// spellings: what is typed wins. Names may have '-' or '_'. A file that cannot be read is Code::missing; everything
// else that is wrong in it (syntax, unknown or repeated settings, text where a number is needed) Code::invalid_argument
// with the file and the line.
Result<std::vector<std::string>> with_config(const CLI::App& command, std::vector<std::string> arguments);

// After parsing: a file of all settings of `command` that are in force, typed or by default, grouped and with their
// help as comments; settings without a value are comments, too. Parsed again through with_config it makes the same job,
// as long as the defaults that the options show are true.
std::string to_config(const CLI::App& command);

}  // namespace yoke::cli
