// How to go on after a training was stopped.
#pragma once

#include <string>
#include <vector>

#include "cli/train_flags.h"
#include "yoke/run.h"

namespace yoke::cli {

// Where the model goes when it is stopped and no --save says where.
inline constexpr char kStoppedFile[] = "yoke-stopped.safetensors";

// The command that does what is left: the same words (the command's name first), from the saved weights, for the epochs
// or updates that remain. `epoch_samples`: how much data there is.
std::string go_on_words(const std::vector<std::string>& words, const TrainFlags& flags, const std::string& saved,
                        const Summary& summary, std::uint64_t epoch_samples);

}  // namespace yoke::cli
