// What the replicas of one launcher are told of their places in the job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/surroundings.h"

namespace yoke::launch {

struct Seating {
  std::string join;                     // where the first server listens; under mirrored, replica 0
  std::vector<std::uint32_t> replicas;  // that are started here
  std::vector<std::string> listens;     // under mirrored: where each of them does; else empty
};

// Of a replica of `replicas`. Under mirrored one that was in the job before (`again`) finds it at any that is left of
// the others: where to join is then the list of all that are known, without its own.
Surroundings seat_of(const Seating& seating, std::uint32_t replica, bool again);

}  // namespace yoke::launch
