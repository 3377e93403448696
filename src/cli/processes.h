// Which process of a job this is, from its flags and from the variables that launchers set.
#pragma once

#include <optional>
#include <string>

#include "cli/train_flags.h"
#include "launch/surroundings.h"
#include "yoke/error.h"
#include "yoke/options.h"

namespace yoke::cli {

// Variables of `yoke launch` besides those of launch/surroundings.h.
inline constexpr char kCommandVariable[] = "YOKE_COMMAND";  // what was typed, to say how to go on after a stop
inline constexpr char kHistoryVariable[] = "YOKE_HISTORY";  // a program of the user's own: its part goes there

// A file that the process writes which has the result, when all its files are written: the launcher then knows that
// there is one, and with which status.
inline constexpr char kResultVariable[] = "YOKE_RESULT";

// Which container of `yoke serve` a job is in, where no flag says it.
inline constexpr char kCoordinatorVariable[] = "YOKE_COORDINATOR";
inline constexpr char kContainerVariable[] = "YOKE_CONTAINER";

// --container, and for those that start replicas (`join` not null) --join.
void add_container_flags(CLI::App& command, Options& options, std::string* join);

// The environment's word on it.
Result<launch::Surroundings> surroundings();

// Fills Options::processes: takes part where the surroundings say, and hosts what has to be hosted here (under mirrored
// a slice a replica; where nobody has started servers, the first replicas host the shards). `replicas_given`: by flag.
Status take_place(const launch::Surroundings& found, bool replicas_given, Options& options);

// What a process that is one replica of a job cannot do alone.
Status check_one_of_many(const TrainFlags& flags);

// After `join` and `replica` are known: what this process hosts. Under mirrored one that has no number, or was in the
// job before (`again`), comes to a job that goes on, and `join` lists where its members may be found.
Status host_what_is_needed(bool servers_elsewhere, bool again, Options& options);

}  // namespace yoke::cli
