// How the processes of a group find one another: each gives a descriptor and gets those of all.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::collective {

struct Present {
  int descriptor = -1;  // a duplicate, the receiver's own
  pid_t process = 0;
};

// Rank 0 listens at the path and hands everybody's around; only processes of the same user are heard. In the order of
// the ranks; one's own is a duplicate, too.
Result<std::vector<Present>> meet(const std::string& path, int rank, int size, int descriptor,
                                  std::chrono::steady_clock::time_point deadline);

}  // namespace yoke::collective
