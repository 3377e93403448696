// The flags that say what is kept on the disk of a run: the same for a job, a program of the user's own and a server.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "yoke/error.h"
#include "yoke/options.h"

namespace yoke::cli {

// Adds them to `app`; parsing then fills `checkpoints`, which outlives it.
void add_checkpoint_flags(CLI::App& app, Checkpoints& checkpoints);

// "10m", "500steps", "10m,500steps": fills `every` and `every_steps`, of which one that is not named becomes 0.
Status parse_every(const std::string& text, Checkpoints& checkpoints);

// After parsing: what means nothing without a folder, or in a container.
Status check_checkpoints(const Checkpoints& checkpoints, const std::string& container);

// The words that tell another process the same; none where nothing is kept.
std::vector<std::string> checkpoint_words(const Checkpoints& checkpoints);

// What was typed to start the job, the command's name first: here (`own`), or at the launcher that has started this
// process.
std::vector<std::string> words_typed(std::vector<std::string> own);
// The same as a checkpoint keeps it, with the program's name.
std::vector<std::string> whole_command(std::vector<std::string> words);

}  // namespace yoke::cli
