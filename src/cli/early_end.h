// What a person can do when a job has ended early: what failed, what was saved, and how to go on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "yoke/options.h"

namespace yoke::cli {

struct SavedCheckpoint {
  std::string folder;
  std::uint64_t version = 0;
};

// The newest one in this folder that was finished; whether its files are whole is found out when it is read.
std::optional<SavedCheckpoint> newest_checkpoint(const std::string& folder);

// The command that goes on from the disk: the words that were typed (the command's name first), with --resume where it
// belongs, quoted as a shell takes them.
std::string resume_command(const std::vector<std::string>& words, const Checkpoints& checkpoints);

struct EarlyEnd {
  std::vector<std::string> failed;  // who or what, and how; a line each
  std::string result;               // the file with the model as it was then; empty: none was written
  Checkpoints checkpoints;
  std::string container;           // on servers that keep it; empty: none
  std::vector<std::string> words;  // that were typed, the command's name first
};

// Some lines, the last with its newline.
std::string in_words(const EarlyEnd& end);

}  // namespace yoke::cli
