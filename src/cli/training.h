// A training from its flags to its result: data, model, fit, files. What `yoke train` runs once the flags are checked.
#pragma once

#include <string>
#include <vector>

#include "cli/train_flags.h"

namespace yoke::cli {

// Returns the exit status; says on standard output what happens and on standard error what goes wrong. `words` are the
// command's own, to say how to go on after a stop.
int run_training(TrainFlags flags, const std::vector<std::string>& words);

}  // namespace yoke::cli
