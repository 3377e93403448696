// Runs one seed's world to its end and says what was found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace yoke::sim {

struct SimOptions {
  bool trace = false;                   // keep a line for everything that happens
  bool lose_jobs = true;                // else no job is lost as a whole, whatever the seed says
  std::uint64_t event_limit = 400'000;  // a world that is not through by then makes no progress
};

struct Counts {
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::uint64_t updates = 0;
  std::uint64_t turned_away = 0;
  std::uint64_t crashes = 0;
  std::uint64_t resets = 0;
  std::uint64_t checkpoints = 0;   // announced
  std::uint64_t discarded = 0;     // and those that failed
  std::uint64_t losses = 0;        // of the whole job
  std::uint64_t departures = 0;    // of a process with all that it hosts
  std::uint64_t views = 0;         // formed anew
  std::uint64_t from_twins = 0;    // slices that were gone on from there
  std::uint64_t servers = 0;       // lost, or cut off
  std::uint64_t coordinators = 0;  // lost
  std::uint64_t filled = 0;        // backups
  std::uint64_t brought = 0;       // shards that no server had, and a replica did
  std::uint64_t drains = 0;
  std::uint64_t stops = 0;  // of one replica, that goes on afterwards
  Counts& operator+=(const Counts& other);
};

struct Outcome {
  std::uint64_t seed = 0;
  std::string shape;  // in words
  std::vector<std::string> violations;
  std::vector<std::string> trace;
  Counts counts;
  std::uint64_t values = 0;  // a hash of what was trained
};

// The same seed gives the same outcome, everywhere. An exception that escapes from the state machines is a violation.
Outcome run_seed(std::uint64_t seed, const SimOptions& options = {});

}  // namespace yoke::sim
