// Whether a process has been started as one of a job, and as which: by `yoke launch`, or by torchrun and those that set
// the same variables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/lookup.h"
#include "yoke/error.h"

namespace yoke::launch {

struct Surroundings {
  enum class Kind { none, yoke, torchrun };
  Kind kind = Kind::none;
  std::string join;                       // where to join; of torchrun: tcp:HOST:PORT
  std::optional<std::uint32_t> replica;   // none: whichever number is free
  std::optional<std::uint32_t> replicas;  // of torchrun: how many there are
  std::vector<std::string> flags;         // of yoke: to be taken as if they had been given on the command line
  std::string listen{};                   // of yoke, mirrored: where this replica is to be found; "": beside `join`
  bool again = false;                     // of yoke: this replica was in the job before
  bool operator==(const Surroundings&) const = default;
};

// The names of what `yoke launch` sets.
inline constexpr char kJoinVariable[] = "YOKE_JOIN";
inline constexpr char kReplicaVariable[] = "YOKE_REPLICA";
inline constexpr char kFlagsVariable[] = "YOKE_FLAGS";  // as join_words writes them
inline constexpr char kListenVariable[] = "YOKE_LISTEN";
inline constexpr char kAgainVariable[] = "YOKE_AGAIN";  // 1; empty: no

// YOKE_JOIN, with the others of these, comes first; else RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, all
// four; else there is no job. Where torchrun itself listens on MASTER_PORT (TORCHELASTIC_USE_AGENT_STORE is True) the
// job uses the next port.
//
// Code::invalid_argument: a number is none or out of its range (names the variable and the value), or there are RANK
// and a WORLD_SIZE above 1 but not where the others are (names what is missing).
Result<Surroundings> find_surroundings(const Lookup& lookup);

// The variables by which a process finds these surroundings, of yoke, NAME=VALUE each.
std::vector<std::string> to_environment(const Surroundings& surroundings);

}  // namespace yoke::launch
