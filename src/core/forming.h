// How the members of a job that host its parameters themselves (mirrored) form it anew, when one is lost or one comes:
// who may go on, and from what. Every slice is held by its owner and by its twin, so what was committed is there after
// any one loss. Decided by one of them, the first that is left; the others come to it and say what they have.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "wire/job.h"
#include "yoke/error.h"

namespace yoke::core {

struct Caller {
  wire::View::Seat seat;
  std::vector<wire::Holding> holdings;
};

struct Attendance {
  std::uint64_t view = 0;               // the view that is over
  std::vector<wire::ReplicaId> former;  // its members, in their order
  wire::ReplicaId chief = 0;            // its
  std::vector<Caller> here;             // who has come, of those and others
  std::set<wire::ReplicaId> dead;       // of whom it is certain: their processes are no more
};

// Of those that have not come, some may live and be cut off, and form the job themselves: only one such group may go
// on. It is the one with most of those that may live, and of two halves the one with the former first.
bool may_go_on(const Attendance& attendance);

// Whom the next view consists of and what it goes on from: the newest version that is whole among those that are here.
// Refused: a slice is lost, with both who held it.
Result<wire::View> form(const Attendance& attendance);

}  // namespace yoke::core
