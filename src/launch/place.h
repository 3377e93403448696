// Where a launcher finds itself: alone, or as one of many that mpirun, srun, a Kubernetes Job or a person has started.
#pragma once

#include <cstdint>
#include <string>

#include "launch/lookup.h"
#include "yoke/error.h"

namespace yoke::launch {

struct Place {
  enum class Kind { none, mpirun, slurm, kubernetes, by_hand };
  Kind kind = Kind::none;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::string node;   // processes with the same one share memory, a file system for sockets, and a network
  std::string job;    // a name that all ranks have, and no other job that runs
  bool pmix = false;  // what has started the ranks carries texts between them
  std::string first;  // Kubernetes: HOST:PORT at which rank 0 is found
  bool operator==(const Place&) const = default;
};

// What the caller knows besides the environment.
struct Whereabouts {
  std::string node;    // the host's name, and what else tells this host from others
  std::string rank;    // --rank I/N, or ""
  std::string folder;  // --meet DIR, or ""
};

// By hand (--rank) comes first; then Kubernetes, mpirun and srun. A launcher that is the only rank is at no place: it
// runs all of the job, as on one machine. So is one in a batch script of Slurm outside of srun.
//
// Code::invalid_argument: a number is none or out of its range (names the variable or flag, and the value), or
// something is missing that would tell where the others are (names it).
Result<Place> find_place(const Lookup& lookup, const Whereabouts& here);

// "rank 2 of 6, under mpirun on node7".
std::string in_words(const Place& place);

std::string this_host();  // its name

// The name of this host and of its network: two containers on one machine may have the one and not the other.
std::string this_node();

}  // namespace yoke::launch
