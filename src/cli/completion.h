// Completion for shells, made of the same tree as the help pages.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::cli {

// A script for `shell` (bash, zsh or fish) that completes the commands of `root`, the flags of the one that is typed,
// values where the option's type name is of the form a|b|c, and file names where it has FILE or DIR in it. Any other
// shell is an error that names these three.
Result<std::string> completion(const CLI::App& root, const std::string& shell);

// The three ways, each in a file of its own.
std::string bash_completion(const CLI::App& root);
std::string zsh_completion(const CLI::App& root);
std::string fish_completion(const CLI::App& root);

}  // namespace yoke::cli
