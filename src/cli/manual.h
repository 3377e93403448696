// Man pages, made of the same tree as the help pages.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::cli {

// The page of `command`, one of `root`'s, or of `root` itself when it is null: roff with the man(7) macros. The
// footer's sections "Examples:" and "Exit status:" become sections of their own, and so do others.
//
// An example is a line that begins with the program's name, with an explanation after two spaces or on the line before
// it; or any other command with an explanation after two spaces.
std::string man_page(const CLI::App& root, const CLI::App* command, const std::string& version);

// Writes the pages of `root` and of all its commands into `folder`, which is made when it is not there: yoke.1,
// yoke-train.1, ... Gives the names of the files. Code::missing when one cannot be written.
Result<std::vector<std::string>> write_man_pages(const CLI::App& root, const std::string& folder,
                                                 const std::string& version);

}  // namespace yoke::cli
