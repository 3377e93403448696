// Runs a job, or this rank's part of it, as processes of this machine: what `yoke launch` and `yoke train --processes`
// do.
#pragma once

#include <string>
#include <vector>

#include "cli/train_flags.h"
#include "launch/place.h"
#include "launch/roles.h"

namespace yoke::cli {

struct LaunchPlan {
  TrainFlags flags;                      // of the job; checked
  launch::RolesAsked roles;              // who starts what
  launch::Place place;                   // none: all of the job is started here
  std::string meet, host;                // --meet and --host
  std::string join;                      // a container: where its servers are
  std::string transport = "shm";         // or unix, tcp; of processes of one node
  bool bind = true;                      // under mirrored: replicas to a core each, where there are just as many
  std::optional<std::uint32_t> backups;  // of each server, with a coordinator; none: a server that is lost ends the job
  std::string store;                     // of the coordinator; empty: in the scratch folder
  std::vector<std::string> words;        // the job's flags, for every replica
  std::vector<std::string> program;      // of the user's own, with its words; empty: `yoke replica`
  std::vector<std::string> typed;        // the command as it was typed, without `yoke`; the program and its words, too
};

// --restarts, of the commands that start processes.
void add_restarts_flag(CLI::App& command, TrainFlags& flags);

// Where a job in a container joins: --join, which goes with --container alone.
Status check_container(const TrainFlags& flags, const std::string& join);

// Returns the exit status.
int run_launch(const LaunchPlan& plan);

// The words without these flags and their values; `--flag value` and `--flag=value`.
std::vector<std::string> without_flags(const std::vector<std::string>& words,
                                       const std::vector<std::string>& with_value,
                                       const std::vector<std::string>& bare);

}  // namespace yoke::cli
